"""Pictures of released models."""
