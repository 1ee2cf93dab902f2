// The prolly trees of Dolt, in memory, with the work and the lines of the program trees.
//
// Each line has the store, an operation, its number of edits, and nanoseconds. Those of build and
// get are for one entry; those of apply, diff and merge are for all edits, in the best of several
// rounds. Keys are tuples of one number of 8 bytes, and values tuples of one text of 32 bytes.
// Tuples are made before the time starts. Each result is checked before its time counts.
// Arguments choose parts: page, trees.
package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/dolthub/dolt/go/store/chunks"
	"github.com/dolthub/dolt/go/store/pool"
	"github.com/dolthub/dolt/go/store/prolly"
	"github.com/dolthub/dolt/go/store/prolly/tree"
	"github.com/dolthub/dolt/go/store/val"
)

const (
	entries = 1_000_000
	gets    = 200_000
)

var (
	buffers   = pool.NewBuffPool()
	keyDesc   = val.NewTupleDescriptor(val.Type{Enc: val.Uint64Enc})
	valueDesc = val.NewTupleDescriptor(val.Type{Enc: val.ByteStringEnc})
)

// random is SplitMix64, with the numbers of the program trees.
type random uint64

func (r *random) number() uint64 {
	*r += 0x9E37_79B9_7F4A_7C15
	mixed := uint64(*r)
	mixed = (mixed ^ mixed>>30) * 0xBF58_476D_1CE4_E5B9
	mixed = (mixed ^ mixed>>27) * 0x94D0_49BB_1331_11EB
	return mixed ^ mixed>>31
}

func value(number uint64) []byte {
	var text []byte
	for range 4 {
		number = (number ^ 0x0123_4567) * 0x9E37_79B9_7F4A_7C15
		text = binary.LittleEndian.AppendUint64(text, number)
	}
	return text
}

// tuples makes tuples; it reuses the large buffers of the builders.
type tuples struct {
	keys, values *val.TupleBuilder
}

func newTuples() tuples {
	return tuples{val.NewTupleBuilder(keyDesc), val.NewTupleBuilder(valueDesc)}
}

func (t tuples) key(number uint64) val.Tuple {
	t.keys.PutUint64(0, number)
	return t.keys.Build(buffers)
}

func (t tuples) value(number uint64) val.Tuple {
	t.values.PutByteString(0, value(number))
	return t.values.Build(buffers)
}

// editedNumbers are sorted. Even and odd seeds have no number in common.
func editedNumbers(count int, seed uint64) []uint64 {
	draws := random(seed)
	numbers := make([]uint64, count)
	for i := range numbers {
		drawn := draws.number()
		numbers[i] = 4*(drawn%(entries/2-1)) + seed%2*2 + drawn>>63
	}
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// edits are the changes of one side, and the number of those that insert.
type edits struct {
	keys, values []val.Tuple
	inserted     int
}

func newEdits(count int, seed uint64) edits {
	made, list := newTuples(), edits{}
	for _, number := range editedNumbers(count, seed) {
		list.keys = append(list.keys, made.key(number))
		list.values = append(list.values, made.value(number+seed))
		list.inserted += int(number % 2)
	}
	return list
}

func (list edits) apply(ctx context.Context, root prolly.Map) (prolly.Map, error) {
	changed := root.Mutate()
	for i, key := range list.keys {
		if err := changed.Put(ctx, key, list.values[i]); err != nil {
			return prolly.Map{}, err
		}
	}
	return changed.Map(ctx)
}

// check fails unless a tree has the edits.
func (list edits) check(ctx context.Context, edited prolly.Map) error {
	for i, key := range list.keys {
		err := edited.Get(ctx, key, func(_, found val.Tuple) error {
			if !bytes.Equal(found, list.values[i]) {
				return errors.New("an edit is missing")
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func countDifferences(ctx context.Context, from, to prolly.Map) (count int, err error) {
	err = prolly.DiffMaps(ctx, from, to, func(context.Context, tree.Diff) error {
		count++
		return nil
	})
	if err == io.EOF {
		err = nil
	}
	return count, err
}

func expect(name string, found, wanted int) error {
	if found != wanted {
		return fmt.Errorf("%s: %d instead of %d", name, found, wanted)
	}
	return nil
}

func build(ctx context.Context) (prolly.Map, error) {
	made := newTuples()
	content := make([]val.Tuple, 0, 2*entries)
	for number := range uint64(entries) {
		content = append(content, made.key(2*number), made.value(number))
	}
	runtime.GC()
	store := tree.NewNodeStore((&chunks.MemoryStorage{}).NewView())
	start := time.Now()
	root, err := prolly.NewMapFromTuples(ctx, store, keyDesc, valueDesc, content...)
	took := time.Since(start)
	if err != nil {
		return prolly.Map{}, err
	}
	if err := expect("entries", root.Count(), entries); err != nil {
		return prolly.Map{}, err
	}
	fmt.Println("dolt build 1", took.Nanoseconds()/entries)
	return root, nil
}

func get(ctx context.Context, root prolly.Map) error {
	made, draws := newTuples(), random(3)
	var keys, values []val.Tuple
	for range gets {
		number := draws.number() % entries
		keys = append(keys, made.key(2*number))
		values = append(values, made.value(number))
	}
	runtime.GC()
	found := 0
	start := time.Now()
	for _, key := range keys {
		err := root.Get(ctx, key, func(_, value val.Tuple) error {
			if value != nil {
				found++
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	took := time.Since(start)
	if err := expect("found entries", found, gets); err != nil {
		return err
	}
	if err := (edits{keys: keys, values: values}).check(ctx, root); err != nil {
		return err
	}
	fmt.Println("dolt get 1", took.Nanoseconds()/gets)
	return nil
}

// round returns the times of apply, diff and merge.
func round(ctx context.Context, root prolly.Map, count int, seed uint64) (times [3]time.Duration, err error) {
	left, right := newEdits(count, seed), newEdits(count, seed+1)
	start := time.Now()
	ours, err := left.apply(ctx, root)
	times[0] = time.Since(start)
	if err != nil {
		return times, err
	}
	theirs, err := right.apply(ctx, root)
	if err != nil {
		return times, err
	}
	start = time.Now()
	differences, err := countDifferences(ctx, root, ours)
	times[1] = time.Since(start)
	if err != nil {
		return times, err
	}
	start = time.Now()
	merged, err := prolly.MergeMaps(ctx, ours, theirs, root, func(tree.Diff, tree.Diff) (tree.Diff, bool) {
		panic("the sides have no key in common")
	})
	times[2] = time.Since(start)
	if err != nil {
		return times, err
	}
	changed, err := countDifferences(ctx, root, merged)
	return times, errors.Join(
		err,
		left.check(ctx, ours),
		left.check(ctx, merged),
		right.check(ctx, merged),
		expect("differences", differences, len(left.keys)),
		expect("differences of both sides", changed, len(left.keys)+len(right.keys)),
		expect("entries after edits", ours.Count(), entries+left.inserted),
		expect("entries after a merge", merged.Count(), entries+left.inserted+right.inserted),
	)
}

func trees() error {
	ctx := context.Background()
	root, err := build(ctx)
	if err != nil {
		return err
	}
	if err := get(ctx, root); err != nil {
		return err
	}
	for _, count := range []int{1, 100, 1_000, 10_000} {
		rounds := uint64(20)
		if count >= 1_000 {
			rounds = 5
		}
		best := [3]time.Duration{math.MaxInt64, math.MaxInt64, math.MaxInt64}
		for number := range rounds {
			times, err := round(ctx, root, count, 2*number+1_000*uint64(count))
			if err != nil {
				return err
			}
			for i, time := range times {
				best[i] = min(best[i], time)
			}
		}
		for i, name := range []string{"apply", "diff", "merge"} {
			fmt.Println("dolt", name, count, best[i].Nanoseconds())
		}
	}
	return nil
}

func main() {
	wanted := os.Args[1:]
	parts := []struct {
		name string
		run  func() error
	}{{"page", page}, {"trees", trees}}
	for _, part := range parts {
		if len(wanted) > 0 && !slices.Contains(wanted, part.name) {
			continue
		}
		if err := part.run(); err != nil {
			fmt.Fprintln(os.Stderr, part.name+":", err)
			os.Exit(1)
		}
	}
}
