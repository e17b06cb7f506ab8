"""Migration: folders and exports of other memories become a plan of pages and claims, which waits for an approval like a night's.

Four stages, each a pure function of the one before it: every input is staged as a page; pages are classified and statements taken out
of them; what they are about is brought together over the whole folder; statements become claims by a policy. What comes of it is looked
over, mended once, reported, and sealed.
"""

from __future__ import annotations
