"""What is computed from traces and answers: explanations, evaluation, test sets, attention maps, embeddings."""
