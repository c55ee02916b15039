"""The sandbox: what confines an answer's processes, and the proof that it does."""
