//! Files that share blocks.

mod common;

use common::{Kind, Rig, geometry};
use folioscope_core::behaviour::Behaviours;
use folioscope_core::trace::sink::NoTrace;

fn shares(rig: &Rig<NoTrace>) -> bool {
    let file = rig.other.expect("another file");
    rig.engine.look(|world| world.shares_blocks(file))
}

#[test]
fn what_one_file_alone_still_has_is_shared_no_longer() {
    let mut rig = Rig::new(geometry(64, 16, 2), Behaviours::default(), Kind::Shared, NoTrace);
    rig.write(0, 160, 1, true);
    assert!(shares(&rig));
    rig.write(160, 160, 2, true);
    assert!(!shares(&rig));
    assert_eq!(rig.durable()[..160], [1; 160]);
}
