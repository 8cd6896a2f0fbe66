// Functions that exist once for each kind of device, and compute the same in ways that suit it: a
// recurrent layer of Keras, a random number of TensorFlow Probability. They have one name for what
// they implement, and one of them is called; Grappler's "implementation selector" calls another one
// where that is for the device of the call.
#pragma once

namespace tensorflow {
class GraphDef;
}  // namespace tensorflow

namespace tessera {

// Whether a function of the graph says which device prefers it.
bool HasPreferredFunctions(const tensorflow::GraphDef& graph_def);

// Lets calls in the graph and in its functions call what CPUs prefer, whose ops run on every
// device. Random numbers are then those that TensorFlow draws on a CPU. Functions of gradients
// (`forward_function_name`, `backward_function_name`) stay with each other.
void CallPreferredFunctions(tensorflow::GraphDef* graph_def);

}  // namespace tessera
