//! What a viewer does with the runs that are shown, and what moves by itself.

use super::{Act, App};
use crate::browser::reduced_motion;
use crate::find::Halt;
use crate::keys::Action;
use crate::lesson::Answer;
use crate::looking::Glance;
use crate::stage::Picture;
use crate::state::State;
use folioscope_core::trace::step::Grain;
use folioscope_core::units::FileId;
use gloo_timers::callback::Interval;
use yew::Context;

/// Milliseconds between two steps on the way to the proof of an answer.
const TRAVEL: u32 = 180;
/// What moves by itself.
pub(super) enum Motion {
    None,
    /// Until paused, or the end.
    Play(#[allow(dead_code, reason = "it beats for as long as it is kept")] Interval),
    /// To the proof of an answer.
    Travel(#[allow(dead_code, reason = "it beats for as long as it is kept")] Interval, usize),
}

impl App {
    /// What a viewer does with the runs that are shown.
    pub(super) fn act(&mut self, ctx: &Context<Self>, state: &mut State, act: Act) {
        self.moves =
            matches!(act, Act::Step(_) | Act::Op(_)) || matches!(act, Act::Beat) && state.is_slow();
        match act {
            Act::Key(action) => self.key(ctx, state, action),
            Act::Go(at) => state.step_to(at),
            Act::Scrub(at) => state.go(at),
            Act::Settle => state.said = state.session.narration(),
            Act::Step(forward) => step(state, state.grain, forward),
            Act::Op(forward) => step(state, Grain::Op, forward),
            Act::Play => self.play(ctx, state),
            Act::Beat => self.beat(state),
            Act::Answer(answer) => self.answer(ctx, state, answer),
            Act::Stop(number) => state.go_to_stop(number),
            Act::Lanes => state.toggle_lanes(),
            Act::Why => state.why = !state.why,
            Act::Zoom => state.whole = !state.whole,
            Act::Form(form) => state.form = form,
            Act::File(file) => state.file = file,
            Act::Look(glance) => {
                let spans = state.session.spans(FileId::new(state.file), state.compare.only);
                let Picture { scene, spots, .. } = &self.picture;
                state.looking.glance(glance, (scene, spots), &spans);
                state.whole |= glance == Glance::Fit;
            }
            Act::Grain(grain) => state.grain = grain,
            Act::Speed(speed) => {
                state.speed = speed.min(crate::state::SPEEDS.len() - 1);
                if matches!(self.motion, Motion::Play(_)) {
                    self.motion = playing(ctx, state);
                }
            }
        }
    }
    /// Whatever a viewer does completes a travel at once, and most of it ends play.
    pub(super) fn interrupt(&mut self, state: &mut State, act: &Act) {
        let goes_on = matches!(
            act,
            Act::Beat
                | Act::Play
                | Act::Key(_)
                | Act::Speed(_)
                | Act::Grain(_)
                | Act::Form(_)
                | Act::Why
                | Act::Lanes
                | Act::Zoom
                | Act::Look(_)
        );
        if let Motion::Travel(_, target) = self.motion
            && !matches!(act, Act::Beat)
        {
            state.session.go(target);
            self.motion = Motion::None;
        } else if !goes_on {
            self.motion = Motion::None;
        }
    }
    pub(super) fn key(&mut self, ctx: &Context<Self>, state: &mut State, action: Action) {
        let act = match action {
            Action::Play => Act::Play,
            Action::Step(forward) => Act::Step(forward),
            Action::Op(forward) => Act::Op(forward),
            Action::Start => Act::Go(0),
            Action::End => Act::Go(usize::MAX),
            Action::Percent(percent) => Act::Go(state.session.percent(percent)),
            Action::Help | Action::Find(_) | Action::Compare(_) => return,
            Action::Difference => match state.session.next_difference() {
                Some(at) => Act::Go(at),
                None => return,
            },
            Action::First => match state.session.way().first_difference() {
                Some(at) => Act::Go(at),
                None => return,
            },
        };
        self.interrupt(state, &act);
        self.act(ctx, state, act);
    }
    pub(super) fn play(&mut self, ctx: &Context<Self>, state: &mut State) {
        if matches!(self.motion, Motion::Play(_)) {
            self.motion = Motion::None;
            state.said = state.session.narration();
            return;
        }
        if state.session.at() == state.session.way().last() {
            state.go(0);
        }
        self.motion = playing(ctx, state);
    }
    /// Ends play, where it is.
    pub(super) fn pause(&mut self) {
        self.motion = Motion::None;
    }
    pub(super) fn beat(&mut self, state: &mut State) {
        match self.motion {
            Motion::None => {}
            Motion::Play(_) => {
                let next = state.next_beat();
                match state.find.halt(state.session.at(), next) {
                    Halt::No => state.go(next),
                    Halt::Unknown => {}
                    Halt::At(at, what) => {
                        self.motion = Motion::None;
                        state.go(at);
                        state.said = format!("Stopped at {what}: {}", state.session.place());
                    }
                }
                if state.session.at() == state.session.way().last() {
                    self.motion = Motion::None;
                    state.said = state.session.narration();
                }
            }
            Motion::Travel(_, target) => {
                let next = state.session.neighbour(Grain::Function, true).min(target);
                state.session.go(next);
                if next == target {
                    self.motion = Motion::None;
                }
            }
        }
    }
    pub(super) fn answer(&mut self, ctx: &Context<Self>, state: &mut State, answer: Answer) {
        let target = state.answer(answer);
        if reduced_motion() {
            state.session.go(target);
            return;
        }
        let link = ctx.link().clone();
        let beat = Interval::new(TRAVEL, move || link.send_message(Act::Beat));
        self.motion = Motion::Travel(beat, target);
    }
}

fn step(state: &mut State, grain: Grain, forward: bool) {
    let at = state.session.neighbour(grain, forward);
    state.step_to(at);
}

fn playing(ctx: &Context<App>, state: &State) -> Motion {
    let link = ctx.link().clone();
    Motion::Play(Interval::new(state.beat(), move || link.send_message(Act::Beat)))
}
