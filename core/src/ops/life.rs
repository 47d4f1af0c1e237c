//! How an operation starts and ends in the trace.

use super::{OpKind, OpResult};
use crate::trace::delta::DeltaKind;
use crate::trace::rule::Rule;
use crate::trace::sink::Sink;
use crate::units::{Bytes, FileId, OpId, Pos};
use crate::world::{Env, OpEntry, World};

/// Kind, task and file of an operation as the trace packs them.
pub(crate) fn head_word(op: &OpEntry) -> u64 {
    op.kind.code() | u64::from(op.task.get()) << 8 | u64::from(op.file.get()) << 40
}

impl<E: Env> World<E> {
    pub(crate) fn start_op(&mut self, id: OpId, kind: OpKind, file: FileId, pos: Pos, len: Bytes) {
        let op = OpEntry { kind, task: self.caller.task, file, pos, len, result: None };
        if E::Sink::ON {
            self.ops.insert(id, op);
        }
        self.note(DeltaKind::OpHead, id.get(), 0, 0, head_word(&op));
        self.note(DeltaKind::OpPos, id.get(), 0, 0, pos.get());
        self.note(DeltaKind::OpLen, id.get(), 0, 0, len.get());
        let rule = if kind.has_range() { Rule::OpStarts } else { Rule::SyncStarts };
        self.step(rule, [kind.code(), pos.get(), len.get(), 0]);
    }
    pub(crate) fn end_op(&mut self, id: OpId, result: OpResult) {
        let Some(op) = self.ops.get_mut(&id) else { return };
        op.result = Some(result);
        let kind = op.kind;
        self.note(DeltaKind::OpRet, id.get(), 0, 0, result.pack());
        self.step(Rule::OpEnds, [kind.code(), result.pack(), 0, 0]);
    }
    pub(crate) fn note_op_gone(&mut self, id: OpId, op: &OpEntry) {
        let ret = op.result.map_or(0, OpResult::pack);
        self.note(DeltaKind::OpRet, id.get(), 0, ret, 0);
        self.note(DeltaKind::OpLen, id.get(), 0, op.len.get(), 0);
        self.note(DeltaKind::OpPos, id.get(), 0, op.pos.get(), 0);
        self.note(DeltaKind::OpHead, id.get(), 0, head_word(op), 0);
    }
}
