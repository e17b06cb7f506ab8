"""The wiki: pages, claims, recall for agents, HTTP and MCP, adapters for agents, and migration.

The night works without it.
"""
