"""The decision trees of a random forest, grown and evaluated by machine code.

Algorithm (Gini impurity, the best split of a few features drawn per node) and random draws are those of scikit-learn's
forests: the same seed gives the same trees, except for equally good splits. It is faster because a forest sorts its
features once: a node owns a range of all sorted features, which its split divides.
"""

import numba
import numpy as np
from numba import boolean, float32, float64, int32, int64, uint32, void
from numba.types import Tuple, UniTuple

from entropy_sentinel.estimators.machine_code import compile_cached

# A node of a tree, in 12 bytes, because memory limits the speed. Values up to the threshold go to the left child,
# others to the node after it. A leaf is its own left child, and no value is above its threshold.
NODE = np.dtype([("threshold", np.float32), ("left", np.uint32), ("feature", np.uint32)])
_Nodes, _Floats, _Whole, _Places = numba.from_dtype(NODE)[::1], float64[::1], int64[::1], int32[::1]
_Columns, _Order, _Weights = float32[:, ::1], int32[:, ::1], float64[:, ::1]
# Values at most this far apart are equal, as in scikit-learn.
_GAP = np.float32(1e-7)
_BLOCK = 256  # rows that walk down a tree together


@compile_cached(int64(_Whole, int64, int64))
def _draw_integer(state, low, high):
    """Draw an integer from low to high - 1, like scikit-learn (xorshift on 32 bits)."""
    x = max(state[0], 1)
    x ^= (x << 13) & 0xFFFFFFFF
    x ^= x >> 17
    x ^= (x << 5) & 0xFFFFFFFF
    state[0] = x
    return low + (x & 0x7FFFFFFF) % (high - low)


@compile_cached(float32(float64))
def _rounded_down(threshold):
    """The largest float32 up to this value, so that every float32 is on the same side of both."""
    rounded = np.float32(threshold)
    return rounded if rounded <= threshold else np.nextafter(rounded, np.float32(-np.inf))


@compile_cached(UniTuple(float64, 2)(_Places, _Weights))
def _class_weights(rows, weights):
    """The weights of the incorrect and of the correct rows."""
    incorrect = correct = 0.0
    for row in rows:
        incorrect += weights[row, 0]
        correct += weights[row, 1]
    return incorrect, correct


@compile_cached(Tuple((float64, int64, float64))(float32[::1], _Places, _Weights, float64, float64))
def _best_position(values, rows, weights, incorrect, correct):
    """The best split of sorted rows by Gini impurity: (score, the larger the better; rows on the left; threshold).

    weights: (n_all_rows, 2) of incorrect and correct rows; incorrect and correct: their sums over `rows`.
    """
    best, place, threshold = -np.inf, 0, 0.0
    left_0 = left_1 = 0.0
    value = values[rows[0]]
    for i in range(1, len(rows)):
        left_0 += weights[rows[i - 1], 0]
        left_1 += weights[rows[i - 1], 1]
        previous, value = value, values[rows[i]]
        if value > previous + _GAP:
            right_0, right_1 = incorrect - left_0, correct - left_1
            left, right = left_0 + left_1, right_0 + right_1
            left_impurity = 1.0 - (left_0 * left_0 + left_1 * left_1) / (left * left)
            right_impurity = 1.0 - (right_0 * right_0 + right_1 * right_1) / (right * right)
            score = -right * right_impurity - left * left_impurity
            if score > best:
                best, place, threshold = score, i, np.float64(previous) / 2.0 + np.float64(value) / 2.0
    return best, place, threshold


@compile_cached(
    Tuple((int64, int64, float64, int64))(
        _Columns, _Order, int64, int64, _Weights, float64, float64, _Whole, _Whole, int64, int64, _Whole
    )
)
def _best_split(columns, order, begin, end, weights, incorrect, correct, features, constant, n_known, n_tried, state):
    """A node's best split by features drawn at random: (feature or -1, rows on the left, threshold, n_constant).

    The node's rows are order[:, begin:end]. features[:n_known] are known to be constant in it, features[:n_constant] in
    its children. At least one varying feature is tried, if there is one. `constant` has the constant features in order.
    """
    # `features` has five parts, and drawn features move to their part by swaps:
    #   [0, n_seen)                    known to be constant, and drawn
    #   [n_seen, n_known)              known to be constant, not drawn
    #   [n_known, n_known + n_found)   drawn and found to be constant
    #   [n_known + n_found, n_left)    not drawn
    #   [n_left, end)                  varying, drawn and tried
    best, feature, place, threshold = -np.inf, -1, 0, 0.0
    n_left, n_seen, n_found, n_visited = len(features), 0, 0, 0
    while n_left > n_known + n_found and (n_visited < n_tried or n_visited <= n_found + n_seen):
        n_visited += 1
        j = _draw_integer(state, n_seen, n_left - n_found)
        if j < n_known:
            features[n_seen], features[j] = features[j], features[n_seen]
            n_seen += 1
            continue
        j += n_found  # skip those found to be constant
        f = features[j]
        values, rows = columns[f], order[f, begin:end]
        if values[rows[-1]] <= values[rows[0]] + _GAP:
            first = n_known + n_found
            features[j], features[first] = features[first], f
            n_found += 1
            continue
        n_left -= 1
        features[j], features[n_left] = features[n_left], f
        score, at, middle = _best_position(values, rows, weights, incorrect, correct)
        if score > best:
            best, feature, place, threshold = score, f, at, middle
    features[:n_known] = constant[:n_known]
    constant[n_known : n_known + n_found] = features[n_known : n_known + n_found]
    return feature, place, threshold, n_known + n_found


@compile_cached(void(_Places, boolean[::1], _Places))
def _partition_rows(rows, is_left, spare):
    """Put the rows of the left child first; both stay in order."""
    n_left = n_right = 0
    for row in rows:
        rows[n_left] = spare[n_right] = row
        n_left += is_left[row]
        n_right += not is_left[row]
    rows[n_left:] = spare[:n_right]


@compile_cached(int64(_Columns, _Order, _Weights, int64, int64, int64, int64, _Nodes, _Floats, _Places, _Places, int64))
def _grow_tree(columns, order, weights, max_depth, min_split, n_tried, seed, nodes, values, levels, sizes, first):
    """Grow a tree on the rows `order` into nodes[first:]; return the index after its last node."""
    n_features, n_rows = order.shape
    features, constant, state = np.arange(n_features), np.arange(n_features), np.array([seed])
    is_left, spare = np.empty(columns.shape[1], np.bool_), np.empty(n_rows, np.int32)
    # Pending nodes: index, first row, row after the last, constant features, a feature sorted among these rows.
    stack = np.empty((n_rows + 1, 5), np.int64)
    stack[0] = np.array([first, 0, n_rows, 0, 0])
    levels[first], n_waiting, n_nodes = 0, 1, first + 1
    while n_waiting:
        n_waiting -= 1
        node, begin, end, n_constant, by = stack[n_waiting]
        incorrect, correct = _class_weights(order[by, begin:end], weights)
        feature, n_left, threshold = -1, 0, np.inf
        if levels[node] < max_depth and end - begin >= min_split and incorrect > 0 and correct > 0:
            feature, n_left, threshold, n_constant = _best_split(
                columns, order, begin, end, weights, incorrect, correct, features, constant, n_constant, n_tried, state
            )
        sizes[node] = end - begin
        values[node] = correct / (incorrect + correct)
        nodes[node].feature = max(feature, 0)
        nodes[node].threshold = _rounded_down(threshold)
        nodes[node].left = n_nodes if feature >= 0 else node
        if feature < 0:
            continue
        middle = begin + n_left
        for place in range(begin, end):
            is_left[order[feature, place]] = place < middle
        if levels[node] + 1 < max_depth:
            for column in features[n_constant:]:
                if column != feature:
                    _partition_rows(order[column, begin:end], is_left, spare)
        levels[n_nodes] = levels[n_nodes + 1] = levels[node] + 1
        stack[n_waiting] = np.array([n_nodes + 1, middle, end, n_constant, feature])
        stack[n_waiting + 1] = np.array([n_nodes, begin, middle, n_constant, feature])
        n_waiting += 2
        n_nodes += 2
    return n_nodes


@compile_cached(
    int64(
        *(_Columns, _Order, boolean[::1], int32[:, ::1], boolean, int64, int64, int64, _Whole),
        *(_Nodes, _Floats, _Places, _Places, uint32[::1]),
    )
)
def grow_forest(
    columns, order, y, counts, balanced, max_depth, min_split, n_tried, seeds, nodes, values, levels, sizes, roots
):
    """Grow a forest; return the number of its nodes.

    columns: (n_features, n_rows), order: their rows sorted, y: (n_rows,) correct or not, counts: (n_trees, n_rows) how
    often each tree has drawn each row, balanced: whether the classes weigh the same in a tree, n_tried: features drawn
    per node, seeds: (n_trees,) of these draws. It writes each node's P(correct) to values, its depth to levels, its
    number of distinct rows to sizes; and the index of each tree's first node to roots.
    """
    n_features, n_rows = columns.shape
    n_nodes = 0
    for tree in range(len(seeds)):
        count = counts[tree]
        n_drawn, n_correct = count.sum(), count[y].sum()
        weights = np.zeros((n_rows, 2))
        for row in range(n_rows):
            n_class = n_correct if y[row] else n_drawn - n_correct
            row_weight = n_drawn / (2.0 * n_class) if balanced and n_class else 1.0
            weights[row, int(y[row])] = count[row] * row_weight
        drawn = np.empty((n_features, (count > 0).sum()), np.int32)
        for feature in range(n_features):
            rows = order[feature]
            drawn[feature] = rows[count[rows] > 0]
        roots[tree] = n_nodes
        n_nodes = _grow_tree(
            columns, drawn, weights, max_depth, min_split, n_tried, seeds[tree], nodes, values, levels, sizes, n_nodes
        )
    return n_nodes


@compile_cached(float64[:, ::1](_Nodes, _Floats, _Places, _Places, _Whole, _Whole))
def stopped_values(nodes, values, levels, sizes, max_depths, min_splits):
    """For each node, the value at which its rows would stop under narrower limits, (n_nodes, n_limits).

    Under a limit, a tree stops at nodes of depth max_depths or with fewer than min_splits rows, (n_limits,) each.
    """
    stopped = np.empty((len(nodes), len(max_depths)))
    has_stopped = np.zeros(stopped.shape, np.bool_)
    for node in range(len(nodes)):
        left = nodes[node].left
        for limit in range(len(max_depths)):
            if not has_stopped[node, limit]:
                stopped[node, limit] = values[node]
            if left != node and (
                has_stopped[node, limit] or levels[node] >= max_depths[limit] or sizes[node] < min_splits[limit]
            ):
                for child in range(left, left + 2):
                    has_stopped[child, limit], stopped[child, limit] = True, stopped[node, limit]
    return stopped


@compile_cached(float64[:, ::1](_Nodes, uint32[::1], int64, float64[:, ::1], _Columns))
def mean_values(nodes, roots, depth, values, x):
    """The mean over trees of the values at each row's leaf, (n_rows, n_values).

    roots: (n_trees,), depth: that of the deepest leaf, values: (n_nodes, n_values), x: (n_rows, n_features).
    """
    total = np.zeros((len(x), values.shape[1]))
    at = np.empty(_BLOCK, np.uint32)
    for root in roots:
        for first in range(0, len(x), _BLOCK):
            rows = x[first : first + _BLOCK]
            at[:] = root
            for _ in range(depth):
                for i in range(len(rows)):
                    node = nodes[at[i]]
                    at[i] = node.left + (rows[i, node.feature] > node.threshold)
            for i in range(len(rows)):
                for k in range(values.shape[1]):
                    total[first + i, k] += values[at[i], k]
    return total / len(roots)
