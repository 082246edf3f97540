"""The tables and figures of this analysis: name and title. A name with a number is that of the paper.

The function of an exhibit is called `table_<name>` or `figure_<name>` and stands in one of the modules that
`tables.py` and `figures.py` list. A new one is its function and a line here, in the order of the page.
"""

TABLES: dict[str, str] = {
    "estimates": "Estimated accuracy of every domain",
    "recommended": "The recommended estimator against the default and the best",
    "repeats": "What the seed alone does to the errors",
    "cut_off": "Accuracy with and without responses that were cut off",
    "1_auroc": "What separates correct from incorrect responses",
    "2_by_model": "Errors by model",
    "3_simple_estimators": "The default against simple estimators, over models",
    "4_by_size": "Errors by the number of training benchmarks",
    "5_design_choices": "What the estimator's design choices do",
    "6_auroc_further_models": "What separates correct from incorrect responses, further models",
    "7_by_model_further_groups": "Errors by model, further training groups",
    "8_simple_estimators_by_model": "The default against simple estimators, by model",
    "9_best_and_worst_groups": "Best and worst training groups",
    "10_leave_one_out": "Trained on all benchmarks but one",
}

FIGURES: dict[str, str] = {
    "1_accuracies": "Estimated against true accuracy, one model",
    "2_entropy_densities": "Entropy of correct and of incorrect responses",
    "3_accuracies_by_model": "Estimated against true accuracy, every model",
    "4_errors_by_group_accuracy": "Errors by the accuracy of the training group",
    "auroc_by_domain": "What separates correct from incorrect responses, in every domain",
}
