//! Ports of pods and of networks, one file for each type, and the sockets of memif.

mod af_packet;
mod memif;
mod memif_sockets;
mod queues;
mod sub_interfaces;
mod tunnels;
mod vhost;
