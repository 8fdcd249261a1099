"""Files, folders, tables and the glossary; nothing here depends on models."""
