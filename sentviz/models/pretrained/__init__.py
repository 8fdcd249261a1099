"""Pretrained encoders as our own encoder: read from a Hugging Face folder, stored once as a base, and adapted by runs.

checkpoint  read a Hugging Face folder as settings and weights of `sentviz.models.encoder`
tokens      tokenizers of pretrained encoders
base        read and write the weights of a stored base
adapter     low-rank changes to the weights of a base
"""
