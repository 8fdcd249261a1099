// A text as tokens: their ids, the parts of the text that they stand for, and the tokens of each word.

const WORD = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}²³¹¼-¾]+|[^\p{White_Space}]/gu // a run of letters, digits, marks and underscores; any other visible character is alone

const CLUSTER = /[\u{1f1e6}-\u{1f1ff}]{2}|[^\p{White_Space}\x1c-\x1f](?:[\u0300-\u036f\u200c\u200d\ufe00-\ufe0f\u20d0-\u20ff\u{1f3fb}-\u{1f3ff}\u{e0020}-\u{e007f}]|(?<=[\u200c\u200d])[^\x00-\x7f\p{White_Space}])+/gu // several characters that are one sign, as in sentviz/data/texts.py

const OUTER = /^[\p{White_Space}\x1c-\x1f]+|[\p{White_Space}\x1c-\x1f]+$/gu // white space of the library

/** Return the tokens of each word, in order. @param {string} text @param {[number, number][]} spans @returns {number[][]} */
export function together(text, spans) {
  const signs = [...text.matchAll(CLUSTER)], words = []
  const starts = [...text.matchAll(WORD)].map(found => found.index).filter(at => !signs.some(sign => sign.index < at && at < sign.index + sign[0].length))
  let last = -1
  for (const [k, [start, end]] of spans.entries()) {
    const word = at => starts.findLastIndex(from => from <= at)
    if (k && word(start) <= last) words.at(-1).push(k)
    else words.push([k])
    last = Math.max(last, word(Math.max(start, end - 1)))
  }
  return words
}

/** Return a text after the steps of a normalizer, and the [start, end] in the text of each of its code units. What a step puts in the place of
 * characters stands for the last of them, as in the library. @param {{normalize: (text: string) => string, config: object, pattern?: RegExp}[]} steps */
export function cleaned(text, steps) {
  let clean = "", spans = []
  const add = (part, span) => {
    clean += part
    for (let k = 0; k < part.length; k++) spans.push(span)
  }
  for (const letter of text) add(letter, [clean.length, clean.length + letter.length])
  for (const step of steps) {
    const before = clean, places = spans, composes = step.config.type === "NFKC", letters = composes ? composing(before) : [...before]
    const parts = step.pattern ? before.matchAll(step.pattern) : letters.map(part => [part])
    let from = 0
    ;[clean, spans] = ["", []]
    for (const part of parts) {
      const start = part.index ?? from, given = [...part[0]], made = composes && given.length > 1 && [...step.normalize(part[0])]
      while (from < start) add(before[from], places[from++])
      from += part[0].length
      if (!made) add(step.pattern ? step.config.content : step.normalize(part[0]), places[from - 1])
      else for (const [k, letter] of made.entries()) { // the first letters are composed
        const place = k && Math.max(0, given.length - made.length + k)
        add(letter, places[start + given.slice(0, place).join("").length])
      }
    }
    while (from < before.length) add(before[from], places[from++])
  }
  return { clean, spans }
}

/** Return the parts of a text that NFKC changes independently: a letter with its marks, the parts of a Korean syllable. @returns {string[]} */
export function composing(text) {
  const parts = []
  for (const letter of text) {
    const part = parts.at(-1), joins = part && (/\p{M}/u.test(letter) || (part + letter).normalize("NFKC") !== part.normalize("NFKC") + letter.normalize("NFKC"))
    if (joins) parts[parts.length - 1] += letter
    else parts.push(letter)
  }
  return parts
}

/** Return the [start, end] in a text of each token of a tokenizer that writes "▁" for a space and before the text. The end leaves out white
 * space; a token that is only white space belongs to the letter after it, and has a third entry. @param {string[]} tokens */
export function spansOfSpaced(text, { clean, spans }, tokens) {
  const places = /^[ ▁]/.test(clean) ? spans : [spans[0] ?? [0, 0], ...spans], found = []
  let next = 0
  for (const token of tokens) {
    const [start] = places[next], [, end] = places[(next += token.length) - 1], part = text.slice(start, end), word = part.replace(OUTER, "")
    const from = start + part.indexOf(word)
    found.push(word ? [from, from + word.length] : null)
  }
  for (let k = found.length - 1; k >= 0; k--) found[k] ??= found[k + 1] ? [found[k + 1][0], found[k + 1][0] + 1, true] : [...places.at(-1), true]
  return found
}

/** Return the [start, end] in a text of each token, of which each letter stands for a byte. @param {string[]} tokens @returns {[number, number][]} */
export function spansOfBytes(text, { clean, spans }, tokens) {
  const places = [spans[0] ?? [0, 0]] // of the space that is put first
  let at = 0
  for (const letter of clean) {
    const code = letter.codePointAt(0), count = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
    for (let k = 0; k < count; k++) places.push(spans[at])
    at += letter.length
  }
  let next = 0
  return tokens.map(token => {
    const [start] = places[next], [, end] = places[(next += token.length) - 1]
    return [token[0] === "Ġ" && end - start > 1 && /\p{White_Space}/u.test(text[start]) ? start + 1 : start, end]
  })
}

/** Return the [start, end] in a text of each token: a piece of a word, which may begin with ##, or a complete word, as unknown ones are.
 * @param {string[]} words of the cleaned text @param {(token: string) => boolean} whole whether a token stands for a word @returns {[number, number][]} */
export function spansOfPieces({ clean, spans }, words, tokens, whole) {
  const found = []
  let from = 0
  for (const word of words) {
    let at = clean.indexOf(word, from)
    from = at + word.length
    while (at < from && found.length < tokens.length) {
      const token = tokens[found.length], end = whole(token) ? from : at + token.replace(/^##/, "").length
      found.push([spans[at][0], spans[end - 1][1]])
      at = end
    }
  }
  return found
}

/** Read a text as the model reads it.
 * @param {{encode: (text: string, options: object) => {ids: number[], tokens: string[]}}} tokenizer
 * @param {{tokens: {drop: number[], start: number, stop: number}, kind: string, unknown: number, lowers: boolean, max_length: number, cls: boolean, names: string[]}} card
 * @returns {{ids: number[], tokens: string[], units: number[][], specials: number[], dropped: number}} */
export function readText(tokenizer, card, text) {
  const given = card.lowers ? text.replaceAll("Σ", "σ") : text // the library has one small sigma, JavaScript another one at the end of a word
  const { ids: found, tokens } = tokenizer.encode(given, { add_special_tokens: false }), room = card.max_length - 2 * card.cls
  const ids = found.map(id => id ?? card.unknown), read = [...ids.keys()].filter(k => !card.tokens.drop.includes(ids[k]))
  const kept = card.tokens.truncation_side === "left" ? read.slice(-room) : read.slice(0, room), first = card.cls ? 1 : 0, spans = (all => kept.map(k => all[k]))(spansOf(tokenizer, card, given, tokens))
  const units = together(text, spans).map(unit => unit.map(k => k + first))
  const named = spans.map(([start, end, isBlank], k) => (!isBlank && text.slice(start, end)) || tokens[kept[k]])
  const around = (list, [before, after]) => (card.cls ? [before, ...list, after] : list), { start, stop } = card.tokens
  return {
    ids: around(kept.map(k => ids[k]), [start, stop]),
    tokens: around(named, card.names),
    units,
    specials: around([], [0, kept.length + 1]),
    dropped: read.length - kept.length,
  }
}

function spansOf(tokenizer, { kind, unknown }, text, tokens) {
  const { normalizer, pre_tokenizer, model } = tokenizer, steps = normalizer.normalizers ?? [normalizer]
  if (kind === "BPE") return spansOfBytes(text, cleaned(text, steps.slice(0, -1)), tokens) // without the space that is put first
  const all = cleaned(text, steps)
  if (kind === "Unigram") return spansOfSpaced(text, all, tokens)
  return spansOfPieces(all, pre_tokenizer(all.clean), tokens, token => kind === "WordLevel" || model.tokens_to_ids.get(token) === unknown)
}
