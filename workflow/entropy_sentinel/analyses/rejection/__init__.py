"""Which responses to keep for a wanted accuracy, with every P(correct) as an assessor (PredictaBoard, 2025)."""
