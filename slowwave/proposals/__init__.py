"""Proposals by day: what agents ask to have changed, kept until it is a plan that a person decides on.

Sealing is ``slowwave.night.proposal``'s, for whoever proposes; signing is ``slowwave.plans.gate``'s.
"""
