use super::*;

/// A file in memory with its keys, and keys in an order that is not theirs.
struct Bench {
    connection: Connection,
    recent: Recent,
}

impl Bench {
    fn new(waiting_max: usize) -> Self {
        let connection = Connection::open_in_memory().unwrap();
        crate::schema::migrate(&connection).unwrap();
        let recent = Recent::load(&connection, Arc::default(), waiting_max).unwrap();
        Self { connection, recent }
    }

    fn begin(&self) {
        self.connection.execute_batch("BEGIN").unwrap();
    }

    fn append(&mut self, number: u32) {
        let no = self.recent.next_row();
        self.connection
            .execute(
                "INSERT INTO ledger (no, key, scope, id, generation, first_seen, expires_at, raw_hash, forgotten)
                 VALUES (?1, ?2, 1, x'', 0, 0, 0, x'', 0)",
                (no, key(number).as_bytes()),
            )
            .unwrap();
        self.recent.add(key(number));
    }

    fn delete(&mut self, number: u32) {
        for sql in [
            "DELETE FROM ledger WHERE key = ?1",
            "DELETE FROM ledger_keys WHERE key = ?1",
        ] {
            self.connection.execute(sql, [key(number).as_bytes()]).unwrap();
        }
        self.recent.remove(key(number));
    }

    fn commit(&mut self) {
        self.recent.merge(&self.connection).unwrap();
        self.connection.execute_batch("COMMIT").unwrap();
        self.recent.committed();
    }

    fn roll_back(&mut self) {
        self.connection.execute_batch("ROLLBACK").unwrap();
        self.recent.rolled_back();
    }

    fn count(&self, sql: &str) -> usize {
        let count: i64 = self.connection.query_row(sql, [], |row| row.get(0)).unwrap();
        usize::try_from(count).unwrap()
    }

    /// Every row is found exactly once, now and by a process that opens the file.
    fn check(&self) {
        let reloaded = Recent::load(&self.connection, Arc::default(), self.recent.waiting_max).unwrap();
        assert_eq!(reloaded.waiting, self.recent.waiting);
        assert!(reloaded.next <= self.recent.next);
        assert_eq!(
            reloaded.waiting,
            self.count("SELECT count(*) FROM ledger WHERE key NOT IN (SELECT key FROM ledger_keys)")
        );
        assert_eq!(self.count(
            "SELECT count(*) FROM ledger_keys k WHERE NOT EXISTS (SELECT 1 FROM ledger l WHERE l.no = k.no AND l.key = k.key)",
        ), 0);
        let mut select = self.connection.prepare("SELECT key, no FROM ledger").unwrap();
        let mut rows = select.query([]).unwrap();
        while let Some(row) = rows.next().unwrap() {
            let (key, no) = (
                Key::from_bytes(row.get(0).unwrap()),
                row.get::<_, i64>(1).unwrap(),
            );
            let is_indexed = self
                .connection
                .prepare("SELECT 1 FROM ledger_keys WHERE key = ?1 AND no = ?2")
                .unwrap()
                .exists((key.as_bytes(), no))
                .unwrap();
            assert!(is_indexed || self.recent.find(key) == Some(no));
            assert!(is_indexed || reloaded.find(key) == Some(no));
        }
    }
}

fn key(number: u32) -> Key {
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&number.wrapping_mul(2_654_435_761).to_be_bytes());
    Key::from_bytes(bytes)
}

#[test]
fn keys_are_merged_round_by_round_and_none_is_forgotten() {
    for waiting_max in [1, 7, 64] {
        let mut bench = Bench::new(waiting_max);
        for number in 0..400 {
            bench.begin();
            for item in 0..=number % 3 {
                bench.append(3 * number + item);
            }
            bench.commit();
            assert!(bench.recent.waiting < 2 * waiting_max + 3);
            assert!(bench.recent.keys.lock().entries.len() < 3 * waiting_max + 6);
            if number % 40 == 0 {
                bench.check();
            }
        }
        bench.check();
        let merged = mark(&bench.connection).unwrap().unwrap();
        assert!(merged > 200, "the hand went round: {merged}");
    }
}

#[test]
fn a_rollback_puts_everything_back_and_uses_no_number_twice() {
    let mut bench = Bench::new(4);
    bench.begin();
    (0..20).for_each(|number| bench.append(number));
    bench.commit();
    let before = (bench.recent.waiting, bench.recent.next);
    bench.begin();
    (0..10).for_each(|number| bench.delete(number));
    bench.append(3);
    (20..60).for_each(|number| bench.append(number));
    bench.recent.merge(&bench.connection).unwrap();
    bench.roll_back();
    assert_eq!(bench.recent.waiting, before.0);
    assert!(bench.recent.next > before.1);
    bench.check();
    assert_eq!(bench.recent.find(key(20)), None);
    bench.begin();
    bench.append(20);
    bench.commit();
    bench.check();
}

#[test]
fn a_savepoint_undoes_only_what_came_after_it() {
    let mut bench = Bench::new(100);
    bench.begin();
    bench.append(1);
    bench.append(2);
    bench.connection.execute_batch("SAVEPOINT item").unwrap();
    let savepoint = bench.recent.savepoint();
    bench.delete(1);
    bench.append(1);
    bench.append(3);
    bench.connection.execute_batch("ROLLBACK TO item").unwrap();
    bench.recent.undo_to(savepoint);
    bench.commit();
    bench.check();
    assert_eq!(
        (bench.recent.find(key(1)), bench.recent.find(key(3))),
        (Some(1), None)
    );
}

#[test]
fn numbers_of_deleted_rows_are_not_given_out_again() {
    let mut bench = Bench::new(1);
    for number in 0..40 {
        bench.begin();
        bench.append(number);
        bench.commit();
    }
    let merged = mark(&bench.connection).unwrap().unwrap();
    assert!(merged > 0);
    bench.begin();
    (0..40).for_each(|number| bench.delete(number));
    bench.commit();
    bench.check();
    bench.recent.reload(&bench.connection).unwrap();
    assert!(bench.recent.next_row() > Some(merged));
    bench.begin();
    bench.append(3);
    bench.commit();
    bench.check();
}
