"""From the profiles of a few blocks to what one call does inside, against a published profile, with reasons; pure."""
