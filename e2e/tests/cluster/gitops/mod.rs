//! Networks delivered by Flux' own kustomize-controller.

mod flux;
mod removal;
mod repository;
