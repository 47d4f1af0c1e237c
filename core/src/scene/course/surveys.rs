//! What is durable, kept every so often, so that a drawing replays a part of the run only.

use crate::trace::survey::Survey;
use crate::trace::timeline::{KEYFRAME_EVERY, Timeline};
use std::sync::OnceLock;

/// Surveys by their positions, ascending; found when they are first asked for.
#[derive(Clone, Default, Debug)]
pub(super) struct Surveys(OnceLock<Vec<(usize, Survey)>>);

impl PartialEq for Surveys {
    /// Equal runs have equal ones, found or not.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}
impl Eq for Surveys {}

impl Surveys {
    /// The survey where the timeline stands; none where the trace does not fit itself.
    pub(super) fn at(&self, timeline: &Timeline) -> Option<Survey> {
        let (recording, position) = (timeline.recording(), timeline.position());
        let kept = self.0.get_or_init(|| {
            let mut survey = Survey::new(timeline.header().geometry);
            let mut kept = vec![(0, survey.clone())];
            for at in (KEYFRAME_EVERY..=recording.len()).step_by(KEYFRAME_EVERY) {
                if survey.seek(recording, at).is_err() {
                    break;
                }
                kept.push((at, survey.clone()));
            }
            kept
        });
        let behind = kept.partition_point(|(at, _)| *at <= position);
        let (_, survey) = kept.get(behind.checked_sub(1)?)?;
        let mut survey = survey.clone();
        survey.seek(recording, position).ok().map(|()| survey)
    }
}
