// What a page that computes says of the parts of a text that it does not show, or reads in another way than the model.
import assert from "node:assert/strict"
import { test } from "node:test"
import { left } from "../../sentviz/browser/live/live.js"

const card = (spelled, side = "right") => ({ spelled, tokens: { truncation_side: side } })

test("a token of the model that the text spells is named, and only such a one", () => {
  assert.match(left("a [URL] song [SEP]", { ids: [1], dropped: 0 }, card(["[SEP]", "[URL]", "[CLS]"])), /token for \[SEP\], \[URL\]; .* as plain text/)
  assert.equal(left("a song", { ids: [1], dropped: 0 }, card(["[SEP]"])), "")
  assert.equal(left("a [SEP] song", { ids: [1], dropped: 0 }, card([])), "")
})

test("the end of a long text that is read is named", () => {
  assert.match(left("a song", { ids: [1, 2], dropped: 3 }, card([])), /^Only the first 2 tokens are read; 3 more/)
  assert.match(left("a song", { ids: [1, 2], dropped: 3 }, card([], "left")), /^Only the last 2 tokens are read; 3 more/)
})
