"""Formulas for production traffic: drops, labels with a judge, budgets of labels. No job of a study uses them."""
