//! The bytes of a row: taking what is written, parity, and what was lost.

use super::Stripes;
use super::price::touched;
use super::rows::{Piece, Row};
use crate::check::mutant::Mutant;
use crate::device::md::field;
use crate::units::{MemberId, Sector};

impl Stripes {
    /// Takes the data of waiting writes into the row, and makes parity right for it: anew from all
    /// data, or by what has changed.
    pub(super) fn take_data(&mut self, row: &mut Row, p: usize, q: Option<usize>, anew: bool) {
        let at = row.at;
        row.touched = touched(row);
        let slot = |member: usize| self.config.parity.slot(at, MemberId::new(member as u32));
        let mut changes: Vec<(usize, Vec<u8>)> = Vec::new();
        for member in (0..row.blocks.len()).filter(|member| *member != p && Some(*member) != q) {
            let block = &mut row.blocks[member];
            if block.to_write.is_empty() {
                continue;
            }
            let old = if anew { Vec::new() } else { block.page.clone() };
            block.written.append(&mut block.to_write);
            for piece in block.written.clone() {
                self.copy_in(piece, &mut block.page);
            }
            (block.locked, block.overwrite, block.uptodate) = (true, false, true);
            if !anew {
                let mut change = old;
                field::add(&mut change, &block.page);
                changes.push((member, change));
            }
        }
        let page = row.blocks[p].page.len();
        if self.mutant(Mutant::MakesNoParity) {
            changes.clear();
        } else if anew {
            let data: Vec<(u32, &[u8])> = (0..row.blocks.len())
                .filter(|member| *member != p && Some(*member) != q)
                .map(|member| (slot(member), row.blocks[member].page.as_slice()))
                .collect();
            let new_p = field::p_of(data.iter().map(|(_, page)| *page), page);
            let new_q = q.map(|_| field::q_of(data, page));
            row.blocks[p].page = new_p;
            if let (Some(q), Some(new_q)) = (q, new_q) {
                row.blocks[q].page = new_q;
            }
        } else {
            for (member, change) in &changes {
                field::add(&mut row.blocks[p].page, change);
                if let Some(q) = q {
                    field::add_times(&mut row.blocks[q].page, change, field::power(slot(*member)));
                }
            }
        }
        for parity in [Some(p), q].into_iter().flatten() {
            let block = &mut row.blocks[parity];
            (block.locked, block.uptodate) = (true, true);
        }
    }
    fn copy_in(&self, piece: Piece, page: &mut [u8]) {
        let Some(running) = self.bios.get(&piece.bio) else { return };
        if let Some(from) = running.bio.data.get(piece.from..piece.from + piece.len)
            && let Some(to) = page.get_mut(piece.offset..piece.offset + piece.len)
        {
            to.copy_from_slice(from);
        }
    }
    pub(super) fn copy_out(&mut self, piece: Piece, page: &[u8]) {
        let Some(running) = self.bios.get_mut(&piece.bio) else { return };
        if let Some(to) = running.out.get_mut(piece.from..piece.from + piece.len)
            && let Some(from) = page.get(piece.offset..piece.offset + piece.len)
        {
            to.copy_from_slice(from);
        }
    }
    /// The blocks of a row, with those of lost members made from all others.
    pub(in crate::device::md) fn completed(
        &self,
        at: Sector,
        blocks: Vec<Vec<u8>>,
        lost: &[usize],
    ) -> Vec<Vec<u8>> {
        let mut row = Row::new(at, blocks.len(), 0);
        for (block, page) in row.blocks.iter_mut().zip(blocks) {
            block.page = page;
        }
        self.rebuild(&mut row, lost);
        row.blocks.into_iter().map(|block| block.page).collect()
    }
    /// Makes the pages of the lost members from all others.
    pub(super) fn rebuild(&self, row: &mut Row, lost: &[usize]) {
        let roles = self.config.parity.roles(row.at);
        let (p, q) = (roles.p.get() as usize, roles.q.map(|q| q.get() as usize));
        let slot = |member: usize| self.config.parity.slot(row.at, MemberId::new(member as u32));
        let page = row.blocks[p].page.len();
        let is_data = |member: &usize| *member != p && Some(*member) != q;
        let gone: Vec<usize> = lost.iter().copied().filter(is_data).collect();
        let kept: Vec<usize> =
            (0..row.blocks.len()).filter(|at| is_data(at) && !gone.contains(at)).collect();
        let rest = |row: &Row, parity: usize, weighted: bool| {
            let mut rest = row.blocks[parity].page.clone();
            for member in &kept {
                let factor = if weighted { field::power(slot(*member)) } else { 1 };
                field::add_times(&mut rest, &row.blocks[*member].page, factor);
            }
            rest
        };
        match (gone.as_slice(), q) {
            ([], _) => {}
            ([one], _) if !lost.contains(&p) => row.blocks[*one].page = rest(row, p, false),
            ([one], Some(q)) => {
                row.blocks[*one].page = field::from_q(rest(row, q, true), slot(*one));
            }
            ([one, other], Some(q)) => {
                let (rest_p, rest_q) = (rest(row, p, false), rest(row, q, true));
                let (a, b) = field::from_both(&rest_p, &rest_q, slot(*one), slot(*other));
                row.blocks[*one].page = a;
                row.blocks[*other].page = b;
            }
            _ => unreachable!("more is lost than parity makes up for"),
        }
        let (new_p, new_q) = self.parities_of(row, p, q);
        if lost.contains(&p) {
            row.blocks[p].page = new_p;
        }
        if let Some(q) = q.filter(|q| lost.contains(q)) {
            row.blocks[q].page = new_q.unwrap_or_else(|| vec![0; page]);
        }
    }
    /// What P and Q of a row should be.
    pub(super) fn parities_of(
        &self,
        row: &Row,
        p: usize,
        q: Option<usize>,
    ) -> (Vec<u8>, Option<Vec<u8>>) {
        let slot = |member: usize| self.config.parity.slot(row.at, MemberId::new(member as u32));
        let page = row.blocks[p].page.len();
        let data: Vec<(u32, &[u8])> = (0..row.blocks.len())
            .filter(|member| *member != p && Some(*member) != q)
            .map(|member| (slot(member), row.blocks[member].page.as_slice()))
            .collect();
        let new_p = field::p_of(data.iter().map(|(_, page)| *page), page);
        (new_p, q.map(|_| field::q_of(data, page)))
    }
}
