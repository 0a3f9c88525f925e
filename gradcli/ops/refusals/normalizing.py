"""What PyTorch says of normalizations: of statistics, weights and groups that do not fit."""

from __future__ import annotations

from gradcli.ops.refusals.calls import Call, Said, refuses


@refuses("F.layer_norm", "layer_norm", "F.rms_norm")
def layer_norm(c: Call) -> Said:
    wanted, x = list(c["normalized_shape"]), c.shape()
    if not wanted:
        return (
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got normalized_shape = []"
        )
    for name in ("weight", "bias"):
        if c.has(name) and c.shape(name) != wanted:
            shapes = f"{name} of shape {c.shape(name)} and normalized_shape = {wanted}"
            return f"Expected {name} to be of same shape as normalized_shape, but got {shapes}"
    if x[-len(wanted) :] != wanted:
        star = "*, " if "layer" in c.name else "*"
        expected = f"[{star}{', '.join(map(str, wanted))}]"
        return f"Given normalized_shape={wanted}, expected input with shape {expected}, but got input of size{x}"
    return None


@refuses("F.batch_norm")
def batch_norm(c: Call) -> Said:
    x, training = c.shape(), bool(c["training"])
    if training:
        count = x[0]
        for n in x[2:]:
            count *= n
        if count == 1:
            return ValueError(f"Expected more than 1 value per channel when training, got input size torch.Size({x})")
    elif c["running_mean"] is None:
        return "running_mean must be defined in evaluation mode"
    elif c["running_var"] is None:
        return "running_var must be defined in evaluation mode"
    channels = x[1]
    for name in ("running_mean", "running_var", "weight", "bias"):
        if c.has(name) and c[name].array.size != channels:
            return f"{name} should contain {channels} elements not {c[name].array.size}"
    return None


@refuses("F.instance_norm")
def instance_norm(c: Call) -> Said:
    count = 1
    for n in c.shape()[2:]:
        count *= n
    if c["use_input_stats"] is not False and count == 1:
        return ValueError(f"Expected more than 1 spatial element when training, got input size torch.Size({c.shape()})")
    return None


@refuses("F.group_norm")
def group_norm(c: Call) -> Said:
    x, groups = c.shape(), c["num_groups"]
    if len(x) < 2:
        return f"Expected at least 2 dimensions for input tensor but received {len(x)}"
    if groups == 0:
        return ZeroDivisionError("integer division or modulo by zero")
    if x[1] % groups:
        said = "Expected number of channels in input to be divisible by num_groups, but got input of shape "
        return f"{said}{x} and num_groups={groups}"
    for name in ("weight", "bias"):
        if c.has(name) and c.shape(name) != [x[1]]:
            said = f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape "
            return f"{said}{c.shape(name)} and input of shape {x}"
    return None


@refuses("F.local_response_norm")
def local_response_norm(c: Call) -> Said:
    if c.rank() >= 3:
        return None
    return ValueError(f"Expected 3D or higher dimensionality                          input (got {c.rank()} dimensions)")
