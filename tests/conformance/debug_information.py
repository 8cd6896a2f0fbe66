"""Takes out of saved graphs what only debuggers and Python read: half of a file, often."""


def strip_function(function):
    """Strips the debug information of a FunctionDef."""
    _strip_nodes(function.node_def)
    function.ClearField("arg_attr")


def strip(saved_model):
    """Strips the debug information of a SavedModel message."""
    meta = saved_model.meta_graphs[0]
    _strip_nodes(meta.graph_def.node)
    for function in meta.graph_def.library.function:
        strip_function(function)
    meta.meta_info_def.ClearField("stripped_op_list")


def _strip_nodes(nodes):
    for node in nodes:
        node.ClearField("experimental_debug_info")
        for attr in ("_output_shapes", "_user_specified_name"):
            node.attr.pop(attr, None)
