"""Its presence puts tests/ on the import path: `from clients.server import Server`."""
