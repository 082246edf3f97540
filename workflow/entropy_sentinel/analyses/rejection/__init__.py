"""Which responses can be kept at a wanted accuracy: every P(correct) as an assessor (PredictaBoard, 2025)."""
