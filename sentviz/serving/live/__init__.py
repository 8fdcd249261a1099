"""Pages that compute: one file with models, their tokenizers and the linked picture, which needs no server and no network."""
