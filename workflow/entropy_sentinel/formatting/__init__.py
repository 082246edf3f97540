"""How numbers, sentences and tables look in text and in spreadsheets.

May be imported by: `features`, `statistics`, `hub` and every room above.
"""
