-- `hapax.owners` stays on the coordinator, through which every replica reports that it lives.

-- Small tables go to every node, whole.
SELECT create_reference_table('hapax.meta');
SELECT create_reference_table('hapax.pauses');
SELECT create_reference_table('hapax.replays');
SELECT create_reference_table('hapax.audit');
SELECT create_reference_table('hapax.audit_head');
SELECT create_reference_table('hapax.source_states');
SELECT create_reference_table('hapax.views');
SELECT create_reference_table('hapax.traffic');
SELECT create_reference_table('hapax.indexed_fields');
SELECT create_reference_table('hapax.alerts');

-- All others are spread by bucket, and equal buckets stay together: one event is on one shard.
SELECT create_distributed_table('hapax.ledger', 'bucket', colocate_with => 'none', shard_count => 8);
SELECT create_distributed_table('hapax.earlier', 'bucket', colocate_with => 'hapax.ledger');
SELECT create_distributed_table('hapax.events', 'bucket', colocate_with => 'hapax.ledger');
SELECT create_distributed_table('hapax.work', 'bucket', colocate_with => 'hapax.ledger');
SELECT create_distributed_table('hapax.outcomes', 'bucket', colocate_with => 'hapax.ledger');
SELECT create_distributed_table('hapax.attempts', 'bucket', colocate_with => 'hapax.ledger');
SELECT create_distributed_table('hapax.lanes', 'bucket', colocate_with => 'hapax.ledger');
SELECT create_distributed_table('hapax.places', 'bucket', colocate_with => 'hapax.ledger');
SELECT create_distributed_table('hapax.tallies', 'bucket', colocate_with => 'hapax.ledger');
SELECT create_distributed_table('hapax.duplicates', 'bucket', colocate_with => 'hapax.ledger');
SELECT create_distributed_table('hapax.conflicts', 'bucket', colocate_with => 'hapax.ledger');
SELECT create_distributed_table('hapax.bodies', 'bucket', colocate_with => 'hapax.ledger');
SELECT create_distributed_table('hapax.same_body', 'bucket', colocate_with => 'hapax.ledger');
SELECT create_distributed_table('hapax.noted', 'bucket', colocate_with => 'hapax.ledger');
SELECT create_distributed_table('hapax.indexed', 'bucket', colocate_with => 'hapax.ledger');
