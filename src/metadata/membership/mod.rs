//! The membership of a broker in its cluster: the nodes by which the others know it.

mod own_nodes;
mod registering;
