"""The wiki: pages, claims, what agents recall by day, HTTP and MCP, adapters for agents, and migration. The night works without it."""
