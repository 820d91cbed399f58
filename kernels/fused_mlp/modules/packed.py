"""Ops on weights packed for this CPU beforehand, in panels that the C++ kernels read in order.

For inference only, and for the modules only: a function has nowhere to keep packed weights. The layout depends on
the CPU, so a packed tensor is not for saving.
"""

from __future__ import annotations

from fused_mlp.ops.registration import register_for_inference, without_wrapper

pack = register_for_inference("pack(Tensor w) -> Tensor")
linear_packed = without_wrapper(
    register_for_inference("linear_packed(Tensor x, Tensor w, Tensor? b, str activation, int out_features) -> Tensor")
)
mlp_packed = without_wrapper(
    register_for_inference(
        "mlp_packed(Tensor x, Tensor w1, Tensor? b1, Tensor w2, Tensor? b2, str activation,"
        " int hidden, int out_features) -> Tensor"
    )
)
gated_mlp_packed = without_wrapper(
    register_for_inference(
        "gated_mlp_packed(Tensor x, Tensor w_gate, Tensor w_up, Tensor w_down, str activation,"
        " int hidden, int out_features) -> Tensor"
    )
)

# On weights that oneDNN packed, where the C++ library is there: one op each instead of one per product.
register_for_inference("linear_onednn(Tensor x, Tensor w, Tensor? b, str activation) -> Tensor")
register_for_inference("mlp_onednn(Tensor x, Tensor w1, Tensor? b1, Tensor w2, Tensor? b2, str activation) -> Tensor")
register_for_inference(
    "gated_mlp_onednn(Tensor x, Tensor w_gate, Tensor w_up, Tensor w_down, str activation) -> Tensor"
)
