// The picture follows the keys and the sliders: the text as typed and the model as changed are asked at a route of the page's server.

const PAUSE = 1500 // milliseconds without a key after which the page follows, as after Enter
const AGAIN = 300 // milliseconds after which a refused question is asked again
const FAILURES = 2 // questions in a row that may fail before the page waits for Enter only

const rest = ms => new Promise(done => setTimeout(done, ms))

/** Asks the newest question, one at a time; what was wanted in between is never asked. */
export class Asker {
  /** @param {(question: any) => Promise<any>} ask a rejected promise is a failure, null means that the server is busy
   * @param {(question: any, answer: any) => void} take gets every answer to a question that is still the newest, and null when it gives up */
  constructor(ask, take, wait = rest) {
    Object.assign(this, { ask, take, wait, newest: null, busy: false, failed: 0 })
  }

  get over() {
    return this.failed >= FAILURES
  }

  async want(question) {
    this.newest = question
    if (this.busy || this.over) return
    this.busy = true
    try {
      while (this.newest !== null && !this.over) {
        const asked = this.newest
        let answer
        try {
          answer = await this.ask(asked)
          this.failed = 0
        } catch {
          this.failed++
          if (this.over) this.take(asked, null)
          continue
        }
        if (answer === null) await this.wait(AGAIN)
        else {
          if (this.newest === asked) this.newest = null
          this.take(asked, answer)
        }
      }
    } finally {
      this.busy = false
    }
  }

  forget() {
    this.newest = null
  }
}

/** Return the parameters of a link with another value in an edit of the model; without a value, a head is silenced or switched on again.
 * @param {Object<string, string>} view @param {string} edit as in head:1.4 @param {number} [value] */
export function changed(view, edit, value) {
  const edits = (view.change ?? "").split("~").filter(Boolean), others = edits.filter(each => each.split("=")[0] !== edit)
  const more = value === undefined && others.length < edits.length ? [] : [`${edit}=${value ?? 0}`]
  return { ...view, change: [...others, ...more].join("~") }
}

/** Ask the page's own server: the answer, or an error in one sentence, or null if the server is busy. @returns {Promise<any>} */
async function post(question) {
  const answer = await fetch(new URL("live", globalThis.__streamlit?.BACKEND_BASE_URL ?? document.baseURI), {
    method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(question),
  })
  if (answer.status === 503) return null
  if (!answer.ok && answer.status !== 400) throw new Error(answer.statusText)
  return answer.json()
}

/** Lets a picture follow the fields of its page. */
export class Typing {
  /** @param {(data: any) => void} draw draws the picture of an answer @param {(data: any) => void} settle draws what the page last sent */
  constructor(draw, settle) {
    Object.assign(this, { draw, settle, live: null, sent: null, timer: 0 })
    this.asker = new Asker(post, (question, answer) => this.answered(question, answer))
    this.heard = event => this.live && event.target.matches?.(`${this.live.box}, ${this.live.second}`) && this.typed(event)
    document.addEventListener("input", this.heard)
    document.addEventListener("compositionend", this.heard)
    this.watch = new MutationObserver(records => records.forEach(({ target }) => this.turned(target)))
    this.watch.observe(document.body, { subtree: true, attributeFilter: ["value"] })
  }

  /** Take over what the page sent; return whether the picture should show it now: not while the visitor types on. */
  page(data) {
    Object.assign(this, { live: data.live ?? null, sent: data })
    if (!this.typing || !this.live || this.same()) {
      this.stop()
      return true
    }
    return false
  }

  get typing() {
    return "typing" in document.body.dataset
  }

  field(name) {
    return document.querySelector(this.live[name])
  }

  /** Return whether the fields hold the texts of the page's latest answer. */
  same() {
    const [box, second] = [this.field("box"), this.field("second")]
    return !box || (box.value === this.live.text && (!second || second.value === this.live.pair))
  }

  typed(event) {
    clearTimeout(this.timer)
    if (this.same()) return this.back()
    if (!event.isComposing) this.timer = setTimeout(() => this.commit(event.target), PAUSE)
    const [text, pair] = [this.field("box").value, this.field("second")?.value ?? ""]
    if (text.trim()) this.want("keys", { text: this.live.tag ? text.replaceAll("\n", this.live.tag) : text, pair })
  }

  /** Ask for a change of the text or of the view. @param {"keys"|"hand"} by what the visitor uses */
  want(by, change) {
    const { view, whole: text, pair, visitor } = this.live
    if (!this.asker.over) document.body.dataset.typing = by
    this.asker.want({ view, text, pair, visitor, ...change })
  }

  /** Show the page's latest answer again, because everything is as it was. */
  back() {
    this.asker.forget()
    this.stop()
    this.settle(this.sent)
  }

  /** Follow a slider that is dragged. */
  turned(slider) {
    const dial = slider.type === "range" && this.live?.dials.find(({ box }) => slider.closest(box)), value = Number(slider.value)
    if (!dial) return
    if (Math.abs(value - dial.value) > Number(slider.step) / 2) this.want("hand", { view: changed(this.live.view, dial.edit, value) })
    else if (this.typing) this.back()
  }

  /** Silence a head, or switch it on again. @param {string} at layer and head, counted from 1 */
  silence(at) {
    if (this.live) this.want("hand", { view: changed(this.live.view, `head:${at}`) })
  }

  /** Let the page follow, as the Enter key does. */
  commit(box) {
    if (this.live && box.isConnected && !this.same()) box.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", code: "Enter", keyCode: 13, ctrlKey: box.localName === "textarea", bubbles: true }))
  }

  answered(question, answer) {
    if (!this.live || !this.typing) return
    if (answer === null) return this.stop()
    const heading = this.field("heading")
    heading?.setAttribute("data-live", answer.error || answer.answer + (answer.by ? ` By ${answer.by} while several people type.` : ""))
    if (answer.data) this.draw(answer.data)
  }

  /** Show the page as it is. */
  stop() {
    clearTimeout(this.timer)
    delete document.body.dataset.typing
    for (const node of document.querySelectorAll("[data-live]")) node.removeAttribute("data-live")
  }

  end() {
    this.asker.forget()
    this.stop()
    this.live = null
    document.removeEventListener("input", this.heard)
    document.removeEventListener("compositionend", this.heard)
    this.watch.disconnect()
  }
}
