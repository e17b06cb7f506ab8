"""The only code that writes memory at night: claims, batches, events and undo."""
