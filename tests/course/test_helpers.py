"""Helper functions of the claims, on cases whose answer is known."""

import torch

from attncourse.cost import count
from attncourse.course.convolution import claims as convolution
from attncourse.course.efficient import claims as efficient
from attncourse.course.multi_head import claims as multi_head
from attncourse.course.recurrence import claims as recurrence
from attncourse.dot_product import attention, masked_softmax
from attncourse.efficient import longformer_mask


def positive_scores_count_against(scores, mask):
    return masked_softmax(scores, mask) * (1 - 2 * (scores > 0).double())


def test_an_edge_filter_of_one_head_would_be_noticed(monkeypatch):
    monkeypatch.setattr(convolution, "masked_softmax", positive_scores_count_against)
    quantities = convolution.one_head_is_no_edge_filter.measure().measured.quantities
    assert quantities["blur, off by"] < 1e-12
    assert quantities["left of the edge filter"] < 0.7


def test_the_figure_counts_the_operations_of_each_method(g):
    points = efficient.tradeoff(g, 128, 2)
    x = torch.empty(128, 16)
    full_flops = count(attention, x, x, x).flops
    assert points["Linformer"][2][0] == 4 * 2 * 16 * 128 * 16 / full_flops
    assert points["Longformer"][3][0] == longformer_mask(128, 31, [0]).double().mean()
    assert set(points) == {"Longformer", "BigBird", "Linformer", "Performer", "Nyström", "Reformer"}
    assert all(cost > 0 and 0 < error for line in points.values() for cost, error in line)


def test_a_stream_that_changes_nothing_knows_all_its_tokens(g):
    x = multi_head.normal64(g, 16, 64)
    assert multi_head.match_count([x, x]) == 16
    assert multi_head.match_count([x, x.roll(1, 0)]) == 0


def test_the_longest_chain_counts_products_that_wait_and_no_others():
    x = torch.ones(3, 3, requires_grad=True)
    product = x @ x
    chains = [
        recurrence.longest_chain(y) for y in (product, product.tanh() + x, product @ x + x @ x)
    ]
    assert chains == [1, 1, 2]
    assert recurrence.longest_chain(attention(x, x, x)) == 2


def test_what_is_kept_is_counted_once_and_without_what_was_given():
    x, w = torch.ones(2, 3), torch.ones(3, 5)
    # a tanh keeps its result, and the product the same numbers once more
    assert recurrence.saved_elements(lambda x: (x @ w).tanh() @ w.mT, x, [w]) == 2 * 5
    assert recurrence.saved_elements(lambda x: x @ w, x, [w]) == 0
