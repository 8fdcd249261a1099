"""How a model came to answer as it does: a fixed sample of rows and an example sentence, asked after every kept epoch."""
