"""Compute explanations, evaluations, attention maps and embeddings from traces and predictions."""
