package study;


/** The command: `Load PEER produce|consume|latency --option value ...` prints a line of JSON. */
final class Load {
    private Load() {}

    public static void main(String[] words) throws Exception {
        Work work = Work.parse(words, 2);
        String line;
        try (Peer peer = peer(words[0], work)) {
            line = switch (words[1]) {
                case "produce" -> new Throughput(work).produce(peer);
                case "consume" -> new Throughput(work).consume(peer);
                case "latency" -> new Latency(work).measure(peer);
                default -> throw new IllegalArgumentException(words[1]);
            };
        }
        System.out.println(line);
        System.out.flush();
        // Some clients leave threads behind that keep the process alive.
        Runtime.getRuntime().halt(0);
    }

    private static Peer peer(String name, Work work) throws Exception {
        return switch (name) {
            case "kafka" -> new KafkaPeer(work);
            case "rabbitmq-classic" -> new RabbitPeer(work, "classic");
            case "rabbitmq-quorum" -> new RabbitPeer(work, "quorum");
            case "rabbitmq-stream" -> new RabbitStreamPeer(work);
            case "activemq" -> new ActiveMqPeer(work);
            case "nats" -> new NatsPeer(work);
            case "redis" -> new RedisPeer(work);
            default -> throw new IllegalArgumentException(name);
        };
    }
}
