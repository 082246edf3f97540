"""How numbers, sentences and tables look in text and in spreadsheets."""
