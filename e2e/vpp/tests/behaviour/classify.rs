//! Classifier tables, and filters of interfaces by them.

use crate::{Fixture, on_each};
use usnet_vpp::messages::{
    ClassifyAddDelSession, ClassifyAddDelTable, ClassifySessionDump, ClassifyTableByInterface, ClassifyTableIds,
    ClassifyTableInfo, DENY, InputAclSetInterface, L2Flags, L2InputFeatures, NO_TABLE, PERMIT, PERMIT_AS_READ,
    VECTOR_BYTES,
};
use usnet_vpp::{Batch, ReturnCode};

const MEMORY: u32 = 1 << 20;

/// A table that compares the first byte of a frame.
fn table(next_table_index: u32) -> ClassifyAddDelTable {
    let mask = (0..VECTOR_BYTES).map(|at| if at == 0 { 0xff } else { 0 }).collect();
    ClassifyAddDelTable {
        is_add: true,
        table_index: NO_TABLE,
        nbuckets: 16,
        memory_size: MEMORY,
        match_n_vectors: 1,
        next_table_index,
        miss_next_index: DENY,
        mask,
        ..ClassifyAddDelTable::default()
    }
}

fn session(table_index: u32, first: u8) -> ClassifyAddDelSession {
    let r#match = vec![first; VECTOR_BYTES];
    let (hit_next_index, opaque_index) = (PERMIT, 7);
    ClassifyAddDelSession { is_add: true, table_index, hit_next_index, opaque_index, r#match, ..Default::default() }
}

impl Fixture {
    fn add_table(&mut self, next: u32) -> u32 {
        self.request(table(next)).expect("a table").new_table_index
    }

    fn delete_table(&mut self, table_index: u32, del_chain: bool) -> Result<(), ReturnCode> {
        self.request(ClassifyAddDelTable { is_add: false, del_chain, table_index, ..table(NO_TABLE) }).map(drop)
    }

    fn tables(&mut self) -> Vec<u32> {
        self.request(ClassifyTableIds {}).expect("ids").ids
    }

    fn set_filter_table(&mut self, sw_if_index: u32, l2_table_index: u32, is_add: bool) -> Result<(), ReturnCode> {
        let none = NO_TABLE;
        let set =
            InputAclSetInterface { sw_if_index, ip4_table_index: none, ip6_table_index: none, l2_table_index, is_add };
        self.request(set).map(drop)
    }

    fn filter_table(&mut self, sw_if_index: u32) -> u32 {
        self.request(ClassifyTableByInterface { sw_if_index }).expect("tables").l2_table_id
    }

    /// Whether an interface is filtered, by both messages that say so.
    fn has_filter(&mut self, sw_if_index: u32) -> bool {
        let by_get = self.features(sw_if_index).expect("features").0.contains(L2InputFeatures::ACL);
        let flags = self.request(L2Flags { sw_if_index, is_set: true, feature_bitmap: 0 }).expect("flags");
        assert_eq!(L2InputFeatures(flags.resulting_feature_bitmap).contains(L2InputFeatures::ACL), by_get);
        by_get
    }
}

#[test]
fn sessions_are_read_without_what_the_mask_ignores_and_replaced_by_their_match() {
    on_each(|vpp| {
        let index = vpp.add_table(NO_TABLE);
        vpp.request(session(index, 3)).expect("a session");
        vpp.request(ClassifyAddDelSession { hit_next_index: DENY, opaque_index: 8, ..session(index, 3) })
            .expect("the session again");
        vpp.request(session(index, 4)).expect("another");
        let mut found = vpp.dump(ClassifySessionDump { table_id: index });
        found.sort_by_key(|session| session.r#match.clone());
        let read: Vec<_> =
            found.into_iter().map(|found| (found.r#match, found.hit_next_index, found.opaque_index)).collect();
        let key = |first: u8| [vec![first], vec![0; VECTOR_BYTES - 1]].concat();
        assert_eq!(read, [(key(3), DENY, 8), (key(4), PERMIT_AS_READ, 7)]);
        let info = vpp.request(ClassifyTableInfo { table_id: index }).expect("a table");
        assert_eq!((info.active_sessions, info.miss_next_index, &info.mask), (2, DENY, &table(NO_TABLE).mask));
        let delete = ClassifyAddDelSession { is_add: false, ..session(index, 3) };
        assert_eq!(
            [vpp.request(delete.clone()).err(), vpp.request(delete).err()],
            [None, Some(ReturnCode::NoSuchEntry)]
        );
        assert_eq!(vpp.dump(ClassifySessionDump { table_id: index }).len(), 1);
        let long = ClassifyAddDelSession { r#match: vec![1; 2 * VECTOR_BYTES], ..session(index, 3) };
        assert_eq!(vpp.request(long).err(), Some(ReturnCode::InvalidValue));
        assert_eq!(vpp.request(session(99, 3)).err(), Some(ReturnCode::NoSuchTable));
    });
}

#[test]
fn the_next_table_changes_and_a_chain_is_deleted_as_a_whole() {
    on_each(|vpp| {
        let last = vpp.add_table(NO_TABLE);
        let first = vpp.add_table(NO_TABLE);
        let update = ClassifyAddDelTable { table_index: first, miss_next_index: 5, nbuckets: 64, ..table(last) };
        assert_eq!(vpp.request(update).expect("a table").new_table_index, first);
        let info = vpp.request(ClassifyTableInfo { table_id: first }).expect("a table");
        assert_eq!((info.next_table_index, info.miss_next_index, info.nbuckets), (last, DENY, 16));
        assert_eq!(vpp.tables().len(), 2);
        assert_eq!(vpp.delete_table(first, true), Ok(()));
        assert_eq!(vpp.tables(), Vec::<u32>::new());
        assert_eq!(vpp.delete_table(first, true), Err(ReturnCode::NoSuchTable));
    });
}

#[test]
fn an_interface_with_the_index_of_a_filtered_one_is_open_until_its_table_is_unset() {
    on_each(|vpp| {
        let table = vpp.add_table(NO_TABLE);
        let index = vpp.bridged();
        assert_eq!((vpp.filter_table(index), vpp.has_filter(index)), (NO_TABLE, false));
        vpp.set_filter_table(index, table, true).expect("a filter");
        assert_eq!((vpp.filter_table(index), vpp.has_filter(index)), (table, true));
        vpp.delete_memif(index).expect("delete");
        assert_eq!(vpp.bridged(), index);
        assert_eq!((vpp.filter_table(index), vpp.has_filter(index)), (table, false));
        vpp.set_filter_table(index, table, true).expect("it is answered");
        assert!(!vpp.has_filter(index), "but does nothing");
        vpp.set_filter_table(index, table, false).expect("unset");
        vpp.set_filter_table(index, table, true).expect("set");
        assert!(vpp.has_filter(index));
    });
}

#[test]
fn a_filter_goes_when_its_interface_leaves_and_stays_when_it_moves_between_bridge_domains() {
    on_each(|vpp| {
        let table = vpp.add_table(NO_TABLE);
        let index = vpp.bridged();
        vpp.set_filter_table(index, table, true).expect("a filter");
        vpp.set_domain(index, 5, true);
        assert!(vpp.has_filter(index), "it moved");
        vpp.set_domain(index, 5, false);
        vpp.set_domain(index, 5, true);
        assert_eq!((vpp.filter_table(index), vpp.has_filter(index)), (table, false), "it left and came back");
    });
}

#[test]
fn a_filter_is_unset_only_with_its_table_and_never_after_that_was_deleted() {
    on_each(|vpp| {
        let [own, other] = [(); 2].map(|()| vpp.add_table(NO_TABLE));
        let index = vpp.bridged();
        let refused = Err(ReturnCode::NoSuchTable);
        assert_eq!(vpp.set_filter_table(index, own, false), refused, "none is set");
        vpp.set_filter_table(index, own, true).expect("a filter");
        assert_eq!(vpp.set_filter_table(index, other, true), Ok(()));
        assert_eq!(vpp.filter_table(index), own, "setting another one does nothing");
        assert_eq!(vpp.set_filter_table(index, other, false), refused);
        vpp.set_domain(index, 4, false);
        vpp.delete_table(own, false).expect("deleted");
        assert_eq!((vpp.set_filter_table(index, own, false), vpp.filter_table(index)), (refused, own));
    });
}

/// This ends VPP 26.06.
#[test]
fn a_session_that_does_not_fit_the_heap_of_its_table_ends_vpp() {
    on_each(|vpp| {
        let mut small = table(NO_TABLE);
        small.memory_size = 64 << 10;
        let index = vpp.request(small).expect("a table").new_table_index;
        for first in 0..40 {
            vpp.request(session(index, first)).expect("it fits");
        }
        let mut batch = Batch::new();
        for first in 40..=u8::MAX {
            batch.request(session(index, first));
        }
        assert!(vpp.client.send(&batch).is_err(), "all were answered");
    });
}
