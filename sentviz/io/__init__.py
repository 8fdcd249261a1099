"""Files, folders, tables and the glossary: what knows nothing of models."""
