package redisstore_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/todoguard/todoguard/core"
	"github.com/todoguard/todoguard/redisstore"
	"github.com/todoguard/todoguard/redisstore/redistest"
)

// replicaOf starts a replica of master and waits until it follows.
func replicaOf(t *testing.T, master *redistest.Server) (*redistest.Server, *redis.Client) {
	t.Helper()
	require.NoError(t, client(t, master.Addr()).ConfigSet(bg, "repl-diskless-sync-delay", "0").Err())
	r := redistest.New(t, "--replicaof", "127.0.0.1", strconv.Itoa(master.Port()))
	c := client(t, r.Addr())
	eventually(t, "replication", func() bool { return strings.Contains(c.Info(bg, "replication").Val(), "master_link_status:up") })
	return r, c
}

// A failover loses acknowledged writes, as Redis says it may. The other history reaches the same number, and the
// writer of the lost one must not win with it.
func TestReplicaPromotedWithLostWrites(t *testing.T) {
	bothWays(t, func(t *testing.T, o redisstore.Options) {
		o.Timeout = 100 * time.Millisecond
		master := redistest.New(t)
		_, rc := replicaOf(t, master)
		a := newStore(t, client(t, master.Addr()), o)
		b := newStore(t, client(t, rc.Options().Addr, retries(-1)), o) // the driver repeats READONLY for a second
		v1 := save(t, a, "a", "1", "")
		eventually(t, "replication of the save", func() bool { doc, _ := load(t, b, "a"); return doc == "1" })

		_, err := b.Save(bg, "a", []byte("x"), v1)
		require.ErrorIs(t, err, core.ErrUnavailable, "a replica takes no writes")
		_, err = b.Save(bg, "a", []byte("x"), "9.AAAAAAAAAAAAAAAA")
		if !o.NoScripts {
			require.ErrorIs(t, err, core.ErrUnavailable, "nor does a replica that is behind call it a conflict")
		}

		require.NoError(t, rc.ReplicaOf(bg, "127.0.0.1", "1").Err(), "cut off, still a replica")
		v2 := save(t, a, "a", "2, lost", v1)
		v3 := save(t, a, "a", "3, lost", v2)
		master.Kill()
		eventually(t, "promotion", func() bool { return rc.ReplicaOf(bg, "NO", "ONE").Err() == nil })

		doc, v := load(t, b, "a")
		require.Equal(t, "1", doc, "the failover lost two writes, or this tests nothing")
		n2 := save(t, b, "a", "2, new", v)
		n3 := save(t, b, "a", "3, new", n2)
		overwritten := 0
		for _, stale := range []core.Version{v2, v3} { // the same numbers
			_, err := b.Save(bg, "a", []byte("4, stale"), stale)
			if err == nil {
				overwritten++
			}
			require.Equal(t, "3, new", string(conflict(t, err).Doc))
		}
		_, got := load(t, b, "a")
		require.Equal(t, n3, got)
		t.Logf("failover: lost by Redis: 2; acknowledged afterwards: 2, overwritten by a writer of the lost history: %d", overwritten)
	})
}

func TestSentinel(t *testing.T) {
	slow(t)
	master := redistest.New(t)
	replicaOf(t, master)
	sentinel := redistest.NewSentinel(t, fmt.Sprintf("sentinel monitor m 127.0.0.1 %d 1\n"+
		"sentinel down-after-milliseconds m 500\nsentinel failover-timeout m 3000\n", master.Port()))
	sc := redis.NewSentinelClient(&redis.Options{Addr: sentinel.Addr()})
	t.Cleanup(func() { _ = sc.Close() })
	eventually(t, "the sentinel knows the replica", func() bool {
		rs, err := sc.Replicas(bg, "m").Result()
		return err == nil && len(rs) == 1 && rs[0]["master-link-status"] == "ok"
	})
	c := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m", SentinelAddrs: []string{sentinel.Addr()},
		ContextTimeoutEnabled: true, ReadTimeout: time.Second, DialTimeout: time.Second})
	t.Cleanup(func() { _ = c.Close() })
	s := newStore(t, c, redisstore.Options{TTL: time.Hour, Feed: true})
	tr := startTraffic(t, s, 1, 60*time.Second)
	eventually(t, "saves before the failover", func() bool { return tr.saves.Load() > 50 })
	// The only writer stops, so that what it was promised has reached the replica: this is about the change of
	// address, the test above is about lost writes.
	tr.end()
	eventually(t, "replication", func() bool {
		info := client(t, master.Addr()).Info(bg, "replication").Val()
		return strings.Contains(info, "offset="+field(info, "master_repl_offset:")+",")
	})
	acked := tr.snapshot()

	began := time.Now()
	master.Kill()
	_, v := load(t, newStore(t, c, redisstore.Options{TTL: time.Hour, Feed: true, Timeout: 60 * time.Second}), session(0))
	v2, err := s.Save(within(t, 60*time.Second), session(0), []byte("1000000 after the failover"), v)
	require.NoError(t, err)
	took := time.Since(began)
	missing := lost(t, s, acked)
	_, got := load(t, s, session(0))
	require.Equal(t, v2, got)
	t.Logf("sentinel: master killed, next save acknowledged after %v; acknowledged writes: %d, lost: %d, false conflicts: %d",
		took.Round(10*time.Millisecond), tr.saves.Load()+1, missing, tr.falsec.Load())
	require.Zero(t, missing+int(tr.falsec.Load()))
}

func field(info, name string) string {
	_, rest, _ := strings.Cut(info, name)
	value, _, _ := strings.Cut(rest, "\r")
	return value
}

// startCluster makes n masters by plain commands.
func startCluster(t *testing.T, n int) ([]*redistest.Server, *redis.ClusterClient) {
	t.Helper()
	var nodes []*redistest.Server
	var addrs []string
	for i := range n {
		s := redistest.New(t, "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf", "--cluster-node-timeout", "1000")
		c := client(t, s.Addr())
		require.NoError(t, c.ClusterAddSlotsRange(bg, 16384*i/n, 16384*(i+1)/n-1).Err())
		require.NoError(t, c.Do(bg, "CLUSTER", "SET-CONFIG-EPOCH", i+1).Err())
		if i > 0 {
			require.NoError(t, c.ClusterMeet(bg, "127.0.0.1", strconv.Itoa(nodes[0].Port())).Err())
		}
		nodes, addrs = append(nodes, s), append(addrs, s.Addr())
	}
	for _, s := range nodes {
		c := client(t, s.Addr())
		eventually(t, "the cluster", func() bool {
			info := c.ClusterInfo(bg).Val()
			return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_known_nodes:"+strconv.Itoa(n))
		})
	}
	c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs, ContextTimeoutEnabled: true})
	t.Cleanup(func() { _ = c.Close() })
	return nodes, c
}

func TestCluster(t *testing.T) {
	slow(t)
	nodes, c := startCluster(t, 3)

	t.Run("every node serves", func(t *testing.T) {
		bothWays(t, func(t *testing.T, o redisstore.Options) {
			o.Prefix = redistest.Prefix()
			s := newStore(t, c, o)
			used := map[string]bool{}
			for i := range 40 {
				id := fmt.Sprintf("s{%d}", i)
				v := save(t, s, id, "one", "")
				save(t, s, id, "two", v)
				doc, _ := load(t, s, id)
				require.Equal(t, "two", doc)
				node, err := c.MasterForKey(bg, o.Prefix+":{:s%7B"+strconv.Itoa(i)+"%7D}")
				require.NoError(t, err)
				used[node.Options().Addr] = true
			}
			require.Len(t, used, 3, "sessions spread over the nodes")
			ch, err := s.Watch(bg0(t), "s{1}", "")
			require.NoError(t, err)
			first := <-ch
			require.Equal(t, "two", string(first.Doc))
			require.Equal(t, save(t, s, "s{1}", "three", first.Version), (<-ch).Version)
		})
	})

	t.Run("a slot moves under load", func(t *testing.T) {
		bothWays(t, func(t *testing.T, o redisstore.Options) {
			o.Prefix = redistest.Prefix()
			s := newStore(t, c, o)
			tr := startTraffic(t, s, 1, 30*time.Second)
			eventually(t, "saves before the move", func() bool { return tr.saves.Load() > 50 })
			during := moveSlot(t, nodes, c, o.Prefix+":{:"+session(0)+"}", tr)
			after := tr.saves.Load()
			eventually(t, "saves after the move", func() bool { return tr.saves.Load() > after+50 })
			tr.end()
			missing := lost(t, s, tr.snapshot())
			t.Logf("slot moved: acknowledged writes: %d (%d while both nodes had a part), lost: %d, false conflicts: %d",
				tr.saves.Load(), during, missing, tr.falsec.Load())
			require.Zero(t, missing+int(tr.falsec.Load()+tr.open.Load()))
		})
	})
}

// moveSlot moves the slot of key to another node, slowly enough that saves meet both halves.
func moveSlot(t *testing.T, nodes []*redistest.Server, c *redis.ClusterClient, key string, tr *traffic) (during int64) {
	t.Helper()
	slot := int(c.ClusterKeySlot(bg, key).Val())
	from, err := c.MasterForKey(bg, key)
	require.NoError(t, err)
	var to *redistest.Server
	for _, n := range nodes {
		if n.Addr() != from.Options().Addr {
			to = n
		}
	}
	source, target := client(t, from.Options().Addr), client(t, to.Addr())
	sourceID, targetID := source.Do(bg, "CLUSTER", "MYID").Val(), target.Do(bg, "CLUSTER", "MYID").Val()
	require.NoError(t, target.Do(bg, "CLUSTER", "SETSLOT", slot, "IMPORTING", sourceID).Err())
	require.NoError(t, source.Do(bg, "CLUSTER", "SETSLOT", slot, "MIGRATING", targetID).Err())
	before := tr.saves.Load()
	time.Sleep(300 * time.Millisecond) // new keys are sent to the target, the old ones are still here
	during = tr.saves.Load() - before
	for {
		ks := source.ClusterGetKeysInSlot(bg, slot, 10).Val()
		if len(ks) == 0 {
			break
		}
		for _, k := range ks {
			err := source.Migrate(bg, "127.0.0.1", strconv.Itoa(to.Port()), k, 0, time.Second).Err()
			if err != nil && !strings.Contains(err.Error(), "NOKEY") {
				require.NoError(t, err)
			}
		}
	}
	for _, n := range nodes {
		require.NoError(t, client(t, n.Addr()).Do(bg, "CLUSTER", "SETSLOT", slot, "NODE", targetID).Err())
	}
	return during
}
