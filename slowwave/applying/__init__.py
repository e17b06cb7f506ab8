"""applying"""
