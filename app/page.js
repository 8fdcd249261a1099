// What every page does in the browser beyond Streamlit: the key of the finder, and room for legends.
if (!window.isSentvizPage) {
  window.isSentvizPage = true;

  document.addEventListener("keydown", (event) => {
    const box = document.querySelector(".st-key-finder input");
    if (box && event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.altKey) {
      event.preventDefault();
      box.focus();
      box.click();
    }
  });

  // A picture has a fixed height. In a narrow column its legend takes more lines, and the last ones would be cut off: the page gives them room below.
  const SLACK = 2; // pixels
  const WAIT = 150; // milliseconds, while a picture is drawn
  const giveRoom = () => {
    for (const plot of document.querySelectorAll(".js-plotly-plot")) {
      const legend = plot.querySelector(".legend");
      const place = legend?.transform.baseVal;
      const end = place?.length ? place[0].matrix.f + legend.querySelector(".bg").height.baseVal.value : 0;
      const beyond = Math.ceil(end - (plot.querySelector(".main-svg")?.height.baseVal.value ?? 0));
      const room = legend && beyond > SLACK ? `${beyond}px` : "";
      const box = plot.closest("[data-testid='stElementContainer']");
      if (box && box.style.getPropertyValue("--legend") !== room) box.style.setProperty("--legend", room);
    }
  };
  let isWaiting = false;
  new MutationObserver(() => {
    if (isWaiting) return;
    isWaiting = true;
    setTimeout(() => {
      isWaiting = false;
      giveRoom();
    }, WAIT);
  }).observe(document.body, { childList: true, subtree: true });
}
