// A text as tokens: their ids, the parts of the text that they stand for, and the tokens of each word.

const WORD = /[\p{L}\p{M}\p{N}\p{Pc}]+|[^\p{White_Space}]/gu // a run of letters, digits, marks and underscores; any other visible character is alone

const UNKNOWN = /^(?:[^\p{White_Space}\p{P}$+<=>^`|~]+|.)/su // what WordPiece writes as one unknown token
const HIDDEN = /^[\p{Cc}\p{Cf}\p{Mn}]$/u // characters that some tokenizers leave out

/** Return characters as a tokenizer compares them: lower case, without accents; marks alone stay. */
const plain = text => text.normalize("NFD").replace(/\p{Mn}/gu, "").toLowerCase() || text

/** Return the [start, end] of each piece in a text, in order; a piece that is not found stands for the next run of letters.
 * @param {string} text @param {string[]} pieces @returns {[number, number][]} */
export function aligned(text, pieces) {
  const letters = []
  let at = 0
  for (const letter of text) {
    for (const part of plain(letter)) if (!/\p{White_Space}/u.test(part)) letters.push([part, at, at + letter.length])
    at += letter.length
  }
  let next = 0
  return pieces.map(piece => {
    const wanted = [...plain(piece)], found = []
    for (let k = next; wanted.length && k < letters.length && found.length < wanted.length; k++) {
      if (letters[k][0] === wanted[found.length]) found.push(k)
      else if (!HIDDEN.test(letters[k][0])) break
    }
    if (wanted.length && found.length === wanted.length) {
      next = found.at(-1) + 1
      return [letters[found[0]][1], letters[found.at(-1)][2]]
    }
    while (next < letters.length && HIDDEN.test(letters[next][0])) next++
    if (next >= letters.length) return [text.length, text.length]
    const start = letters[next][1], end = start + text.slice(start).match(UNKNOWN)[0].length
    while (next < letters.length && letters[next][1] < end) next++
    return [start, end]
  })
}

/** Return the tokens of each word, in order. @param {string} text @param {[number, number][]} spans @returns {number[][]} */
export function together(text, spans) {
  const starts = [...text.matchAll(WORD)].map(found => found.index), words = []
  let last = -1
  for (const [k, [start, end]] of spans.entries()) {
    const word = at => starts.findLastIndex(from => from <= at)
    if (k && word(start) <= last) words.at(-1).push(k)
    else words.push([k])
    last = Math.max(last, word(Math.max(start, end - 1)))
  }
  return words
}

/** Read a text as the model reads it.
 * @param {{encode: (text: string, options: object) => {ids: number[], tokens: string[]}}} tokenizer
 * @param {{tokens: {drop: number[], start: number, stop: number}, unknown: number, lowers: boolean, max_length: number, cls: boolean, names: string[]}} card
 * @returns {{ids: number[], tokens: string[], units: number[][], specials: number[], dropped: number}} */
export function readText(tokenizer, card, text) {
  const given = card.lowers ? text.replaceAll("Σ", "σ") : text // the library has one small sigma, JavaScript another one at the end of a word
  const { ids: found, tokens } = tokenizer.encode(given, { add_special_tokens: false }), room = card.max_length - 2 * card.cls
  const ids = found.map(id => id ?? card.unknown)
  const kept = [...ids.keys()].filter(k => !card.tokens.drop.includes(ids[k])).slice(0, room), first = card.cls ? 1 : 0
  const pieces = kept.map(k => tokens[k].replace(/^##/, "")), spans = aligned(text, pieces)
  const units = together(text, spans).map(unit => unit.map(k => k + first))
  const named = spans.map(([start, end], k) => text.slice(start, end) || pieces[k])
  if (!card.cls) return { ids: kept.map(k => ids[k]), tokens: named, units, specials: [], dropped: ids.length - kept.length }
  return {
    ids: [card.tokens.start, ...kept.map(k => ids[k]), card.tokens.stop],
    tokens: [card.names[0], ...named, card.names[1]],
    units,
    specials: [0, kept.length + 1],
    dropped: ids.length - kept.length,
  }
}
