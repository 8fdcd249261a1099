"""Pretrained encoders as our own encoder: read from a Hugging Face folder, stored once as a base, and adapted by runs.

checkpoint  a Hugging Face folder as a shape and weights of `sentviz.models.encoder`
tokens      the tokenizer of a pretrained encoder
base        a stored base: find, read, write
adapter     low-rank changes to the weights of a base
"""
