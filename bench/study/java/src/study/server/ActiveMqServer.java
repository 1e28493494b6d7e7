package study.server;

import java.io.File;
import org.apache.activemq.broker.BrokerService;
import org.apache.activemq.broker.region.policy.PolicyEntry;
import org.apache.activemq.broker.region.policy.PolicyMap;
import org.apache.activemq.store.kahadb.KahaDBPersistenceAdapter;
import org.apache.activemq.store.kahadb.disk.journal.Journal.JournalDiskSyncStrategy;

/** ActiveMQ as a process: `ActiveMqServer ADDRESS DIRECTORY ALWAYS|PERIODIC`; prints `ready`. */
final class ActiveMqServer {
    private ActiveMqServer() {}

    public static void main(String[] words) throws Exception {
        KahaDBPersistenceAdapter store = new KahaDBPersistenceAdapter();
        store.setDirectory(new File(words[1]));
        store.setJournalDiskSyncStrategy(JournalDiskSyncStrategy.valueOf(words[2]).name());
        // Of the concurrent store and dispatch of queues, messages that are consumed at once would
        // never be written; the study's records stay.
        store.setConcurrentStoreAndDispatchQueues(false);
        BrokerService broker = new BrokerService();
        broker.setBrokerName("study");
        broker.setUseJmx(false);
        broker.setAdvisorySupport(false);
        broker.setSchedulerSupport(false);
        broker.setPersistenceAdapter(store);
        broker.addConnector("tcp://" + words[0] + "?wireFormat.maxFrameSize=104857600");
        broker.getSystemUsage().getStoreUsage().setLimit(1L << 40);
        broker.getSystemUsage().getMemoryUsage().setLimit(512L << 20);
        broker.setDestinationPolicy(policies());
        broker.start();
        broker.waitUntilStarted();
        System.out.println("ready " + words[0]);
        broker.waitUntilStopped();
    }

    private static PolicyMap policies() {
        PolicyEntry queues = new PolicyEntry();
        queues.setQueue(">");
        // Producers are held back by the store's pace, not by unread messages in memory.
        queues.setProducerFlowControl(false);
        // More than the messages after which a client acknowledges: else each page waits for its
        // timer.
        queues.setMaxPageSize(10_000);
        PolicyMap policies = new PolicyMap();
        policies.setDefaultEntry(queues);
        return policies;
    }
}
