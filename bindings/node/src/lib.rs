//! The native module of the TypeScript library. It only translates types; `native.d.ts` describes it.

mod functions;
mod input;
mod source;
mod values;
