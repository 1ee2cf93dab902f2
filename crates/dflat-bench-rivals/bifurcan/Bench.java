import io.lacuna.bifurcan.DurableEncodings;
import io.lacuna.bifurcan.DurableInput;
import io.lacuna.bifurcan.DurableMap;
import io.lacuna.bifurcan.IDurableEncoding;
import io.lacuna.bifurcan.IEntry;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Iterator;
import java.util.stream.Stream;

/**
 * Reads of a durable map of Bifurcan, asked for on standard input by the benchmark of packs.
 *
 * <p>{@code Bench build FOLDER} builds the map from the entries on standard input: for each a key of
 * 8 bytes, a length of 4, and the value; all numbers have the highest byte first. {@code Bench read
 * FOLDER} answers questions: {@code g}, a number of keys in 4 bytes, and the keys; {@code s} for all
 * entries. An answer is the number of values that were found, and the sum of their bytes, eight at a
 * time.
 */
final class Bench {
  /** The keys of a block, which is searched from its beginning. */
  private static final int BLOCK = 4;

  private static final IDurableEncoding KEYS =
      DurableEncodings.primitive(
          "key",
          BLOCK,
          key -> ((Long) key * 0x9E3779B97F4A7C15L) >>> 33,
          Object::equals,
          (a, b) -> Long.compareUnsigned((Long) a, (Long) b),
          key -> false,
          DurableEncodings.Codec.selfDelimited(
              (key, out) -> out.writeLong((Long) key), (in, root) -> in.readLong()));

  /** A value is lent from the file, as the bytes of a pack are. */
  private static final IDurableEncoding VALUES =
      DurableEncodings.primitive(
          "value",
          1,
          DurableEncodings.Codec.undelimited(
              (value, out) -> out.write((byte[]) value), (in, root) -> in));

  private static final IDurableEncoding.Map ENCODING = DurableEncodings.map(KEYS, VALUES);

  public static void main(String[] arguments) throws IOException {
    Path folder = Path.of(arguments[1]);
    if (arguments[0].equals("build")) {
      DurableMap.from(entries(), ENCODING, folder, 1 << 20);
      return;
    }
    DurableMap<Long, DurableInput> map;
    try (Stream<Path> files = Files.list(folder)) {
      Path file = files.filter(path -> path.toString().endsWith(".bfn")).findFirst().orElseThrow();
      map = DurableMap.open(file, ENCODING);
    }
    DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 20));
    DataOutputStream out = new DataOutputStream(System.out);
    for (int question = in.read(); question >= 0; question = in.read()) {
      long found = 0;
      long sum = 0;
      if (question == 'g') {
        for (int left = in.readInt(); left > 0; left--) {
          DurableInput value = map.get(in.readLong(), null);
          if (value != null) {
            found++;
            sum += sum(value);
          }
        }
      } else {
        for (IEntry<Long, DurableInput> entry : map) {
          found++;
          sum += sum(entry.value());
        }
      }
      out.writeLong(found);
      out.writeLong(sum);
      out.flush();
    }
  }

  /** The sum of the bytes of a value, eight at a time, the lowest byte first. */
  private static long sum(DurableInput value) {
    long sum = 0;
    while (value.remaining() >= 8) {
      sum += Long.reverseBytes(value.readLong());
    }
    while (value.remaining() > 0) {
      sum += value.readByte() & 0xff;
    }
    return sum;
  }

  private static Iterator<IEntry<Long, byte[]>> entries() {
    DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, 1 << 20));
    return new Iterator<>() {
      private long left = number(in);

      @Override
      public boolean hasNext() {
        return left > 0;
      }

      @Override
      public IEntry<Long, byte[]> next() {
        try {
          left--;
          long key = in.readLong();
          byte[] value = new byte[in.readInt()];
          in.readFully(value);
          return IEntry.of(key, value);
        } catch (IOException error) {
          throw new UncheckedIOException(error);
        }
      }
    };
  }

  private static long number(DataInputStream in) {
    try {
      return in.readLong();
    } catch (IOException error) {
      throw new UncheckedIOException(error);
    }
  }

  private Bench() {}
}
