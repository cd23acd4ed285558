//! Invalid input, hostile tenants and stolen tokens: what is rejected, and how far the damage
//! reaches.

mod bad_input;
mod bad_objects;
mod forged_status;
mod guards;
mod nad_abuse;
mod node_isolation;
mod overlay_strangers;
mod privileges;
mod threats;
