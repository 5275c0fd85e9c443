"""The client: its sans-IO core (`core`), scripts (`script`) and the library for applications (`aio`).

Nothing is imported here: a scripted client does not pay for asyncio.
"""
